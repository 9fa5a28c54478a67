import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, open, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { acquireProcessLock, findLockHolder, type LockHolder, type ProcessLock } from '@callboard/runtime/process-lock';
import { z } from 'zod';
import { CliError } from '../errors.ts';
import type { TerminalAccess } from './supervisor.ts';

/** The longest address of a Unix socket, in bytes; macOS has the lowest limit. */
const MAX_ADDRESS = 100;
const NAME = 'control.sock';
const TIMEOUT_MS = 40_000;
const MAX_LINE = 10_000;

const Question = z.discriminatedUnion('type', [
  z.object({ type: z.literal('list-problems') }),
  z.object({ type: z.literal('create-link') }),
  /** `terminal`: its name, for the list of logins. `file`: where it will keep the token. */
  z.object({ type: z.literal('log-in'), terminal: z.string().min(1).max(100), file: z.string() }),
]);
type Question = z.infer<typeof Question>;
const Link = z.object({ link: z.string() });
const Access = z.object({ address: z.string(), token: z.string() });
const Problems = z.object({ problems: z.array(z.string()) });
/** Sent before a login is made; the program opens the file, and says so. */
const Pause = z.object({ hold: z.string() });
const Held = z.object({ held: z.literal(true) });
const Refusal = z.object({ error: z.string() });

/** What the supervisor does for the commands of its account. */
export interface ControlHandlers {
  /** @param heldFile open in the program that asks, by which the orchestrator finds its process */
  createLink(heldFile: string): Promise<string>;
  /** Why a server is down, in words. */
  listProblems(): string[];
  /** @throws CliError if it cannot, or if Claude could read this file */
  logIn(terminal: string, file: string, heldFile: string): Promise<TerminalAccess>;
}

/** Returns the folder that neither Claude's file tools nor commands in its sandbox can reach. */
export const runFolder = (dataDir: string): string => join(dataDir, 'run');

/**
 * Opens the control socket of a data directory, where the commands of the same account send requests to the supervisor. It
 * is 0600 and lies in a folder that nobody else may enter; a deny rule keeps the agent's file tools out.
 * @returns a function that closes it
 * @throws the system's error if it cannot be opened
 */
export async function serveControl(dataDir: string, handlers: ControlHandlers): Promise<() => Promise<void>> {
  const folder = runFolder(dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    void answer(socket, { folder, handlers });
  });
  await withShortPath(folder, async (path) => {
    await rm(path, { force: true }); // left by a supervisor that was killed: we hold the lock
    const umask = process.umask(0o177);
    try {
      await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
    } finally {
      process.umask(umask);
    }
    await chmod(path, 0o600);
  });
  return async () => {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(join(folder, NAME), { force: true });
  };
}

interface Answering {
  folder: string;
  handlers: ControlHandlers;
}

async function answer(socket: Socket, { folder, handlers }: Answering): Promise<void> {
  try {
    const question = Question.parse(JSON.parse(await readLine(socket)));
    const reply =
      question.type === 'list-problems'
        ? { problems: handlers.listProblems() }
        : await whileHeld(socket, folder, (heldFile) => logIn(question, handlers, heldFile));
    socket.end(`${JSON.stringify(reply)}\n`);
  } catch (error) {
    socket.end(`${JSON.stringify({ error: messageOf(error) } satisfies z.infer<typeof Refusal>)}\n`);
  }
}

async function logIn(
  question: Exclude<Question, { type: 'list-problems' }>,
  handlers: ControlHandlers,
  heldFile: string,
): Promise<z.infer<typeof Link> | z.infer<typeof Access>> {
  if (question.type === 'create-link') return { link: await handlers.createLink(heldFile) };
  return handlers.logIn(question.terminal, question.file, heldFile);
}

/**
 * Has the program at the other end open a file of our choice, whose name only it gets, and keep it open meanwhile. Node cannot ask
 * the kernel who is connected; who has a file open, the kernel shows.
 */
async function whileHeld<T>(socket: Socket, folder: string, work: (heldFile: string) => Promise<T>): Promise<T> {
  const path = join(folder, `caller-${randomUUID()}`);
  await writeFile(path, '', { mode: 0o600, flag: 'wx' });
  try {
    socket.write(`${JSON.stringify({ hold: path } satisfies z.infer<typeof Pause>)}\n`);
    Held.parse(JSON.parse(await readLine(socket)));
    return await work(path);
  } finally {
    await rm(path, { force: true });
  }
}

/**
 * Asks the supervisor of a data directory why a server of it is down.
 * @returns the causes in words, none if all is well
 * @throws CliError if none answers in time, or it is of a release that does not know
 */
export async function askForProblems(dataDir: string, timeoutMs: number): Promise<string[]> {
  return (await ask(dataDir, { type: 'list-problems' }, Problems, timeoutMs)).problems;
}

/**
 * Asks the supervisor of a data directory for a new login link.
 * @throws CliError if none answers, or it could not make one
 */
export async function askForLink(dataDir: string, timeoutMs = TIMEOUT_MS): Promise<string> {
  return (await ask(dataDir, { type: 'create-link' }, Link, timeoutMs)).link;
}

/**
 * Asks the supervisor of a data directory to log in this terminal.
 * @throws CliError if none answers, it could not, or Claude could read the file that will hold the token
 */
export const askToLogIn = (dataDir: string, terminal: string, file: string): Promise<TerminalAccess> =>
  ask(dataDir, { type: 'log-in', terminal, file }, Access, TIMEOUT_MS);

async function ask<T>(dataDir: string, question: Question, Answer: z.ZodType<T>, timeoutMs: number): Promise<T> {
  const text = await withShortPath(runFolder(dataDir), async (path) => {
    const socket = connect(path);
    const late = setTimeout(() => socket.destroy(new Error('it did not answer')), timeoutMs);
    try {
      socket.write(`${JSON.stringify(question)}\n`);
      const text = await readLine(socket);
      const { data: asked } = Pause.safeParse(JSON.parse(text));
      if (asked === undefined) return text;
      await using _held = await open(asked.hold, 'r');
      socket.write(`${JSON.stringify({ held: true } satisfies z.infer<typeof Held>)}\n`);
      return await readLine(socket);
    } finally {
      clearTimeout(late);
      socket.destroy();
    }
  }).catch((error: unknown) => {
    const isAway = ['ENOENT', 'ECONNREFUSED'].includes(systemCode(error) ?? '');
    const why = isAway ? 'it is still starting, or stopping' : messageOf(error);
    throw new CliError(`the Callboard on ${dataDir} gave no answer: ${why}. Try again in a moment.`);
  });
  const answer = z.union([Refusal, Answer]).parse(JSON.parse(text));
  const refused = Refusal.safeParse(answer);
  if (refused.success) throw new CliError(refused.data.error);
  return Answer.parse(answer);
}

/** Resolves with the first line; rejects if the connection ends without one. */
async function readLine(socket: Socket): Promise<string> {
  let text = '';
  for await (const part of socket.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += String(part);
    if (text.includes('\n') || text.length > MAX_LINE) break;
  }
  const [line = ''] = text.split('\n', 1);
  if (line === '') throw new Error('the connection ended');
  return line;
}

/** The address of a socket must be short, a data directory may be long: then a symbolic link in a new folder leads to it. */
async function withShortPath<T>(folder: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, NAME);
  if (Buffer.byteLength(path) <= MAX_ADDRESS) return use(path);
  const place = await mkdtemp(join(tmpdir(), 'cb-'));
  try {
    await symlink(folder, join(place, 'run'));
    return await use(join(place, 'run', NAME));
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

export { AlreadyLocked } from '@callboard/runtime/process-lock';

/** The lock of the one supervisor of a data directory. */
export type SupervisorLock = ProcessLock;
/** The supervisor of a data directory. */
export type SupervisorRecord = LockHolder;

const lockFile = (dataDir: string) => join(dataDir, 'run', 'supervisor.json');

/** Takes the lock for this process; makes the data directory if it is missing. @throws AlreadyLocked */
export const acquireSupervisorLock = (dataDir: string, port: number, now: Date): Promise<SupervisorLock> =>
  acquireProcessLock(lockFile(dataDir), port, now);

/** Returns the living supervisor of a data directory, or null. */
export const findSupervisor = (dataDir: string): Promise<SupervisorRecord | null> => findLockHolder(lockFile(dataDir));
