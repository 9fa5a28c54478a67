import { mkdir, open, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { CommandOutput, StageId, WorktreeCommandState } from '@callboard/contract';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { bootId, identify, type ProcessIdentity } from '@callboard/runtime/process-identity';
import { createProcessMarks } from '../../platform/child-processes.ts';
import {
  COMMAND_MARKER,
  findCommandProcesses,
  isGoneWithin,
  readProcessTable,
  terminate,
} from '../../platform/process-table.ts';
import { detach } from '../../platform/processes.ts';
import { adoptProcess } from '../claude/claude-process.ts';
import type { PlacedCommand } from './command-sandbox.ts';

export interface RunOptions {
  id: string;
  placed: PlacedCommand;
  /** As `DetachedJob.mark`. */
  mark: string | null;
  file: OutputFile;
  /** The file that it reads from; without one, its input is empty. */
  input?: string;
  timeLimitMs: number | null;
  /** Between SIGTERM and SIGKILL. */
  graceMs: number;
  /** Called once it has a process. */
  onSpawned: (process: ProcessIdentity) => Promise<void>;
}

/** How a command ended. */
export interface CommandEnd {
  state: Exclude<WorktreeCommandState, 'running'>;
  exitCode: number | null;
  reason: string | null;
}

export interface CommandRun {
  /** Resolves when all its processes are gone. Never rejects. */
  readonly ended: Promise<CommandEnd>;
  /** Ends it, with this as the way it ended, unless it has ended otherwise. */
  end(how: Pick<CommandEnd, 'state' | 'reason'>): void;
  /** The pids of its processes. */
  pids(): Promise<number[]>;
}

/** How often the length of the output is checked, and outside the sandbox what it started. */
const CHECK_INTERVAL_MS = 1_000;
/** After this long a command starts little, and is looked at less often. */
const BUSY_MS = 60_000;
const REST_MS = 10_000;

/** Starts a command. */
export function runCommand(options: RunOptions): CommandRun {
  const { id, placed, graceMs, mark } = options;
  const isSandboxed = placed.isolation.level === 'sandbox';
  const stopping = new AbortController();
  let asked: Pick<CommandEnd, 'state' | 'reason'> | null = null;
  let process: ProcessIdentity | null = null;
  let known: ProcessIdentity[] = [];
  const ending = () => ({ id, process, isSandboxed, known });

  function end(how: Pick<CommandEnd, 'state' | 'reason'>): void {
    asked ??= how;
    stopping.abort();
  }

  async function check(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    while (!signal.aborted) {
      const isBusy = performance.now() - startedAt < BUSY_MS;
      await sleep(isSandboxed || isBusy ? CHECK_INTERVAL_MS : REST_MS, undefined, { signal, ref: false }).catch(
        () => undefined,
      );
      if (signal.aborted) return;
      await options.file.bound().catch(() => undefined); // a full disk: the next look tries again
      if (!isSandboxed) known = await processesOf(ending());
    }
  }

  async function run(): Promise<CommandEnd> {
    const stdio = [
      { path: options.input ?? '/dev/null', flags: 'r' },
      { path: options.file.path, flags: 'a' },
      { path: options.file.path, flags: 'a' },
    ];
    const { command, args, cwd, env } = placed;
    const detached = await detach({ command, args, cwd, env, stdio, mark });
    process = detached.identity;
    await options.onSpawned(process);
    const over = new AbortController();
    const limit =
      options.timeLimitMs === null ? undefined : setTimeout(timeOut, options.timeLimitMs, options.timeLimitMs);
    const watching = check(over.signal);
    const exited = detached.exit.then(async (exit) => {
      if (!exit.known) await adoptProcess(detached.identity).exited(stopping.signal);
      return exit;
    });
    const stopped = new Promise<null>((resolve) => {
      if (stopping.signal.aborted) resolve(null);
      stopping.signal.addEventListener('abort', () => resolve(null));
    });
    const exit = await Promise.race([exited, stopped]);
    clearTimeout(limit);
    over.abort();
    await watching;
    const isGone = await endCommand(ending(), graceMs);
    const left = isGone ? '' : ' Some of its processes could not be ended.';
    if (asked !== null && exit === null) return { ...asked, exitCode: null, reason: `${asked.reason ?? ''}${left}` };
    if (exit === null || !exit.known) return { state: 'interrupted', exitCode: null, reason: `${LOST}${left}` };
    const { code, signal } = exit;
    if (code === 0) return { state: 'passed', exitCode: 0, reason: left === '' ? null : left.trim() };
    const how = code === null ? `It was ended by ${signal}.` : `It ended with exit code ${code}.`;
    return { state: 'failed', exitCode: code, reason: `${how}${left}` };
  }

  function timeOut(ms: number): void {
    end({ state: 'timed-out', reason: `It ran longer than its time limit of ${duration(ms)}.` });
  }

  const ended = run().catch(async (error: unknown): Promise<CommandEnd> => {
    await endCommand(ending(), graceMs).catch(() => undefined);
    return { state: 'failed', exitCode: null, reason: `It could not be run: ${messageOf(error)}.` };
  });
  return { ended, end, pids: async () => (await processesOf(ending())).map(({ pid }) => pid) };
}

const LOST = 'Callboard lost track of it.';

/** For people: `90 s`, `10 min`, `1 h 30 min`. */
function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** When a file of output is longer than this, its end begins a new one, and what came before the end is dropped. */
const LIMITS = { longest: 8 * 1024 * 1024, kept: 4 * 1024 * 1024 };
/** How much one reply has at most. */
const PAGE = 256 * 1024;

/** Where the output of the commands is kept: `<data-dir>/commands/<stage>/<id>.log`, and the part before it in `<id>.old`. */
export const commandsFolder = (dataDir: string): string => join(dataDir, 'commands');

/** The output of one run. */
export interface OutputFile {
  readonly path: string;
  /** Makes sure that its folder exists. */
  create(): Promise<void>;
  /** Shortens it if it has become too long. The command writes at the end, wherever that is. */
  bound(): Promise<void>;
  /** Returns a page from this position on; without one, the end. @throws a system error */
  read(after?: number): Promise<CommandOutput>;
  remove(): Promise<void>;
}

export function outputFile(dataDir: string, stageId: StageId, id: string, limits = LIMITS): OutputFile {
  const { longest, kept } = limits;
  const path = join(commandsFolder(dataDir), stageId, `${id}.log`);
  const old = `${path.slice(0, -'.log'.length)}.old`;
  const start = `${path.slice(0, -'.log'.length)}.start`;

  /** The position of the first byte of the current file. */
  const startOf = async (): Promise<number> => Number(await textOf(start)) || 0;

  return {
    path,
    create: async () => void (await mkdir(dirname(path), { recursive: true, mode: 0o700 })),
    async bound() {
      const size = await sizeOf(path);
      if (size <= longest) return;
      const from = (await startOf()) + size;
      await writeFile(`${old}.new`, await bytesOf(path, size - kept, kept), { mode: 0o600 });
      // In this order, a crash leaves less output than there was, never output in a wrong place.
      await rm(old, { force: true });
      await truncate(path, 0); // what is printed in this moment is lost
      await writeFile(start, String(from), { mode: 0o600 });
      await rename(`${old}.new`, old);
    },
    async read(after) {
      const [begin, size, oldSize] = [await startOf(), await sizeOf(path), await sizeOf(old)];
      const total = begin + size;
      const first = begin - oldSize;
      const wanted = after ?? Math.max(first, total - PAGE);
      const from = Math.min(Math.max(wanted, first), total);
      const bytes =
        from < begin
          ? await bytesOf(old, from - first, Math.min(PAGE, begin - from))
          : await bytesOf(path, from - begin, PAGE);
      const [skipped, whole] = wholeCharacters(bytes);
      return {
        output: bytes.subarray(skipped, whole).toString('utf8'),
        from: from + skipped,
        to: from + whole,
        total,
        isCut: (after ?? 0) < from + skipped,
      };
    },
    async remove() {
      for (const file of [path, old, `${old}.new`, start]) await rm(file, { force: true });
    },
  };
}

/** Returns the end of the output for a message: without escape sequences, whole lines, at most this many bytes. */
export async function tailOf(file: OutputFile, maxBytes: number): Promise<string> {
  const { total } = await file.read();
  const { output, from } = await file.read(Math.max(0, total - maxBytes));
  const plain = stripVTControlCharacters(output)
    .replaceAll(/[^\n]*\r(?!\n)/g, '')
    .replaceAll('\r\n', '\n');
  const firstLine = plain.indexOf('\n');
  return (from > 0 && firstLine !== -1 ? plain.slice(firstLine + 1) : plain).trimEnd();
}

const isMiddle = (byte: number) => (byte & 0xc0) === 0x80;

/** Returns where the first whole character begins, and where the last one ends. Bytes that are no UTF-8 stay. */
function wholeCharacters(bytes: Buffer): [number, number] {
  let first = 0;
  while (first < 3 && first < bytes.length && isMiddle(bytes[first] ?? 0)) first++;
  let last = bytes.length;
  for (let back = 1; back <= 3 && back <= bytes.length - first; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isMiddle(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (length > back) last = bytes.length - back;
    break;
  }
  return [first, last];
}

/** A run that has printed nothing yet has no file. Any other error is told. */
function orNothing<T>(nothing: T): (error: unknown) => T {
  return (error) => {
    if (systemCode(error) === 'ENOENT') return nothing;
    throw error;
  };
}

const sizeOf = (path: string): Promise<number> => stat(path).then(({ size }) => size, orNothing(0));

async function textOf(path: string): Promise<string> {
  return (await bytesOf(path, 0, 100)).toString('utf8');
}

/** Returns what is there of these bytes. */
async function bytesOf(path: string, from: number, length: number): Promise<Buffer> {
  const file = await open(path, 'r').catch(orNothing(null));
  if (file === null) return Buffer.alloc(0);
  try {
    const buffer = Buffer.alloc(length);
    let read = 0;
    while (read < length) {
      const { bytesRead } = await file.read(buffer, read, length - read, from + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return buffer.subarray(0, read);
  } finally {
    await file.close();
  }
}

/** How often to search again for what was started while the rest was being ended. */
const ROUNDS = 10;
/** How long the outermost process of a sandbox may take after the last one inside. */
const AFTER_LAST_MS = 1_000;

export interface EndingCommand {
  id: string;
  /** Its first process; null if it is not known. */
  process: ProcessIdentity | null;
  /** Whether that is the sandbox around it: its end ends everything inside at once. */
  isSandboxed: boolean;
  /** Processes of it that were seen. */
  known?: readonly ProcessIdentity[];
}

/**
 * Ends all processes of a command: those that carry its marker, those that were seen, and what these have started. Each gets
 * SIGTERM, and SIGKILL after the grace period.
 * @returns whether all are gone
 */
export async function endCommand(ending: EndingCommand, graceMs: number): Promise<boolean> {
  const { process, isSandboxed } = ending;
  for (let round = 0; round < ROUNDS; round++) {
    const found = await processesOf(ending);
    const inner = isSandboxed ? found.filter(({ pid }) => pid !== process?.pid) : found;
    if (inner.length === 0) break;
    await Promise.all(inner.map((identity) => terminate(identity, graceMs)));
  }
  if (process !== null && !(await isGoneWithin(process, isSandboxed ? AFTER_LAST_MS : 0)))
    await terminate(process, graceMs);
  return (await processesOf(ending)).length === 0;
}

/** Returns the living processes of a command. */
async function processesOf({ id, process, known = [] }: EndingCommand): Promise<ProcessIdentity[]> {
  const [rows, marked] = await Promise.all([readProcessTable(), findCommandProcesses()]);
  const boot = await bootId();
  const all = [...(process === null ? [] : [process]), ...known].filter((one) => boot === null || one.bootId === boot);
  const seen = new Set(all.map(({ pid, startTime }) => `${pid} ${startTime}`));
  const pids = new Set(marked.get(id) ?? []);
  for (const { pid, startTime } of rows) if (seen.has(`${pid} ${startTime}`)) pids.add(pid);
  for (let before = -1; before !== pids.size; ) {
    before = pids.size;
    for (const row of rows) if (pids.has(row.parent)) pids.add(row.pid);
  }
  const identities = await Promise.all([...pids].map(identify));
  return identities.filter((identity) => identity !== null);
}

/** A program that gets a text and prints an answer. */
export interface InputJob {
  id: string;
  stageId: StageId;
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  input: string;
  /** A person's own program, which may act for them: it is not marked as something that runs for a stage. */
  isPersons?: boolean;
  timeLimitMs: number;
  /** Called once it has a process. */
  onSpawned: (process: ProcessIdentity) => Promise<void>;
}

/** A program that was started. */
export interface RunningInput {
  /** Resolves when all its processes are gone, with what it printed. Never rejects. */
  readonly ended: Promise<CommandEnd & { output: string }>;
  end: CommandRun['end'];
}

/** An answer is far shorter; what prints more gives none. */
const MAX_OUTPUT_LENGTH = 8 * 1024 * 1024;

/** Starts a program with a text as its input. Its files are gone when it has ended. @throws a system error if they cannot be written */
export async function runWithInput(
  { dataDir, graceMs }: { dataDir: string; graceMs: number },
  { id, stageId, command, args, cwd, env, ...job }: InputJob,
): Promise<RunningInput> {
  const file = outputFile(dataDir, stageId, id);
  const input = `${file.path}.input`;
  await file.create();
  await writeFile(input, job.input, { mode: 0o600 });
  const run = runCommand({
    placed: { command, args: [...args], cwd, env: { ...env, [COMMAND_MARKER]: id }, isolation: OUTSIDE },
    mark: job.isPersons === true ? null : await createProcessMarks(dataDir).of(stageId),
    id,
    file,
    input,
    graceMs,
    timeLimitMs: job.timeLimitMs,
    onSpawned: job.onSpawned,
  });
  const ended = run.ended.then(async (end) => {
    const output = await readFile(file.path, 'utf8').catch(() => ''); // it may have ended before it was started
    await Promise.allSettled([file.remove(), rm(input, { force: true })]); // what stays goes with the stage
    return { ...end, output: output.slice(-MAX_OUTPUT_LENGTH) };
  });
  return { ended, end: run.end };
}

const OUTSIDE = { level: 'none', reason: null } as const;
