import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { settlesWithin } from '@callboard/runtime/settles-within';
import {
  claudeEnvironment,
  type LoggedRequest,
  prompt,
  type Script,
  type ScriptedModel,
  startScriptedModel,
} from '@callboard/scripted-model';
import { type Channel, openStdioChannel } from '../core/claude/channel.ts';
import {
  createLaunchFolder,
  launchFiles,
  type ProcessExit,
  type SpawnOptions,
  spawnClaude,
} from '../core/claude/claude-process.ts';
import { readFlags } from '../core/claude/claude-program.ts';
import { messagesInConversation } from '../core/claude/conversation-file.ts';
import { encodeRow, type Frame, parseFrame } from '../core/claude/frames.ts';
import { claudeArguments } from '../core/claude/launch-options.ts';
import { CanUseTool, Lifecycle } from '../core/claude/wire.ts';
import { OperationalError } from '../lib/errors.ts';
import { endMarked, LAUNCH_MARKER, terminate } from '../platform/process-table.ts';
import { OutboxBody } from '../store/records.ts';
import { startCleanupGuard } from './cleanup-guard.ts';
import { writeTestSettings } from './test-settings.ts';

/** An empty home, an empty working folder, and a model on loopback, with the `claude` under test between them. */
export interface TestEnvironment extends AsyncDisposable {
  /** The working folder. */
  readonly cwd: string;
  /** A folder that `claude` has to ask for. */
  readonly outside: string;
  release: ScriptedModel['release'];
  /** A conversation with the running process, or with a new one whose handshake is done. */
  conversation(signal: AbortSignal): Promise<TestConversation>;
  /** Ends the running process, and resumes a conversation in a new one. */
  resume(sessionId: string, signal: AbortSignal): Promise<TestConversation>;
  /** Which of these messages are written in a conversation. Call it after the process has ended. */
  written(sessionId: string, messageIds: readonly string[]): ReturnType<typeof messagesInConversation>;
  /** Ends the running process, so that its work does not disturb the next conversation. */
  discard(): Promise<void>;
}

export interface TestEnvironmentOptions {
  /** The program under test. */
  claude: string;
  /** `PATH` for it. */
  path: string | undefined;
  /** Runs the program with low priority. */
  isQuiet?: boolean;
  /** Stops in the middle. */
  signal: AbortSignal;
}

/** Leaves nothing behind once it is disposed of, and hardly anything if we are killed before. */
export async function createTestEnvironment(options: TestEnvironmentOptions): Promise<TestEnvironment> {
  const { claude, path, isQuiet = false } = options;
  await using stack = new AsyncDisposableStack();
  const root = await realpath(await mkdtemp(join(tmpdir(), 'callboard-doctor-')));
  stack.defer(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  const guard = await startCleanupGuard(root);
  stack.defer(guard.dismiss);
  const folders = await createFolders(root);
  const { cwd } = folders;
  let current: TestLaunch | null = null;
  const model = await startScriptedModel({ log: () => current?.wake() });
  stack.defer(model.close);
  const discard = async () => {
    const launch = current;
    current = null;
    await launch?.end();
  };
  stack.defer(discard);
  const env = { ...claudeEnvironment(model.url, folders.home, path), TMPDIR: folders.tmp };
  const flags = await readFlags(claude, env, options.signal);

  async function launch(source: Conversation, signal: AbortSignal): Promise<TestConversation> {
    await discard();
    signal.throwIfAborted();
    const launchId = `doctor-${randomUUID()}`;
    const folder = join(root, 'launches', launchId);
    const args = claudeArguments({ ...LAUNCH, dataDir: root, env, flags, conversation: source });
    current = await startTestLaunch({ command: claude, args, cwd, env, folder, launchId });
    await guard.watch(current.pid);
    if (isQuiet) lowerPriority(current.pid);
    await createTestConversation(current, model.requests, signal).control({ subtype: 'initialize' });
    return createTestConversation(current, model.requests, signal);
  }

  const all = stack.move();
  return {
    cwd,
    outside: folders.outside,
    release: model.release,
    conversation: async (signal) =>
      current?.isRunning()
        ? createTestConversation(current, model.requests, signal)
        : launch({ start: randomUUID() }, signal),
    resume: (sessionId, signal) => launch({ resume: sessionId }, signal),
    written: (sessionId, messageIds) => messagesInConversation(env, sessionId, messageIds),
    discard,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

type Conversation = Parameters<typeof claudeArguments>[0]['conversation'];

/** As Callboard starts a session, without anything that a person can choose. */
const LAUNCH = {
  permissionMode: 'default',
  model: null,
  effort: null,
  sessionMessages: false,
  allow: [],
  ask: [],
  deny: [],
  directories: [],
  hosts: [],
  sandbox: null,
  userSettingsOnly: null,
} as const;

async function createFolders(root: string) {
  const folders = {
    home: join(root, 'home'),
    cwd: join(root, 'work'),
    outside: join(root, 'outside'),
    tmp: join(root, 'tmp'),
  };
  for (const folder of Object.values(folders)) await mkdir(folder);
  await writeTestSettings(folders.home, folders.cwd);
  return folders;
}

/** Failure does not matter: the process may have ended already, or the system may not allow it. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {}
}

type Response = Extract<Frame, { kind: 'response' }>;

/** A request for permission, as far as the promises use it. */
interface Asked {
  requestId: string;
  toolName: string;
  input: Record<string, unknown>;
}

/**
 * What one promise does with a launch, and what it can see of it. Everything is about what happened since the conversation
 * was created. Every wait ends with the signal.
 */
export interface TestConversation extends Transcript {
  readonly launch: TestLaunch;
  /** Sends a message with the model's script for it; resolves with the message's uuid. */
  say(steps: Script['steps'], uuid?: string): Promise<string>;
  /** Sends a message with exactly this text; resolves with its uuid. */
  sayText(text: string, uuid?: string): Promise<string>;
  /** Resolves with the next request for permission. */
  asked(): Promise<Asked>;
  /** Answers a request for permission; resolves with the body that was sent. */
  answer(asked: Asked, response: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Sends a control request; resolves with the whole response. */
  control(request: { subtype: string; [field: string]: unknown }): Promise<Record<string, unknown>>;
  /** Resolves with the next end of a turn. */
  result(): Promise<Record<string, unknown>>;
  /** Resolves with what `find` returns, once it returns something. */
  until<T>(what: string, find: () => T | undefined): Promise<T>;
  /** Resolves with the next request to the model, side requests excluded. */
  modelAsked(): Promise<LoggedRequest>;
}

/** What happened since a moment, on the wire and at the model. */
interface Transcript {
  /** The printed frames. */
  frames(): Frame[];
  /** The printed messages of a type. */
  messages(type: string, subtype?: string): Record<string, unknown>[];
  /** The printed response with that id: a reply, or the echo of an answer. */
  responseTo(id: string): Response | undefined;
  /** The reported states of a message. */
  lifecycleOf(uuid: string): string[];
  /** The requests to the model, side requests excluded. */
  modelRequests(): LoggedRequest[];
}

function transcriptOf(launch: TestLaunch, requests: readonly LoggedRequest[]): Transcript {
  const firstFrame = launch.frames.length;
  const firstRequest = requests.length;
  const frames = () => launch.frames.slice(firstFrame);

  function messages(type: string, subtype?: string): Record<string, unknown>[] {
    return frames().flatMap((frame) =>
      frame.kind === 'message' && frame.type === type && (subtype === undefined || frame.message.subtype === subtype)
        ? [frame.message]
        : [],
    );
  }

  return {
    frames,
    messages,
    responseTo: (id) =>
      frames().find((frame): frame is Response => frame.kind === 'response' && frame.requestId === id),
    lifecycleOf: (uuid) =>
      messages('command_lifecycle').flatMap((message) => {
        const { data } = Lifecycle.safeParse(message);
        return data?.command_uuid === uuid ? [data.state] : [];
      }),
    modelRequests: () => requests.slice(firstRequest).filter(({ kind }) => kind !== 'side'),
  };
}

function createTestConversation(
  launch: TestLaunch,
  requests: readonly LoggedRequest[],
  signal: AbortSignal,
): TestConversation {
  const transcript = transcriptOf(launch, requests);
  const { frames, messages, modelRequests, responseTo } = transcript;
  const seen = new Set<string>();
  const counts = { results: 0, modelRequests: 0 };
  const until = <T>(what: string, find: () => T | undefined) => launch.until(what, find, signal);

  async function sayText(text: string, uuid: string = randomUUID()): Promise<string> {
    await launch.write({ wireId: uuid, body: OutboxBody.parse({ kind: 'message', text, entered: false }) });
    return uuid;
  }

  return {
    ...transcript,
    launch,
    until,
    sayText,
    say: (steps, uuid) => sayText(prompt({ steps }, 'A message of `callboard doctor`.'), uuid),

    asked: () =>
      until('a request for permission', () => {
        const next = frames().find((frame) => frame.kind === 'request' && !seen.has(frame.requestId));
        if (next?.kind !== 'request') return undefined;
        seen.add(next.requestId);
        return parseAsked(next);
      }),

    async answer({ requestId }, response) {
      const body = OutboxBody.parse({ kind: 'answer', response: { subtype: 'success', response } });
      await launch.write({ wireId: requestId, body });
      return { subtype: 'success', response, request_id: requestId };
    },

    async control(request) {
      const id = randomUUID();
      await launch.write({ wireId: id, body: OutboxBody.parse({ kind: 'control', request }) });
      const reply = await until(`the reply to ${request.subtype}`, () => responseTo(id));
      if (!reply.ok) throw new Error(`it refused ${request.subtype}: ${String(reply.response.error)}`);
      return reply.response;
    },

    async result() {
      const result = await until('the end of the turn', () => messages('result')[counts.results]);
      counts.results += 1;
      return result;
    },

    async modelAsked() {
      const request = await until('a request to the model', () => modelRequests()[counts.modelRequests]);
      counts.modelRequests += 1;
      return request;
    },
  };
}

function parseAsked({ requestId, subtype, request }: Extract<Frame, { kind: 'request' }>): Asked {
  const parsed = CanUseTool.safeParse(request);
  if (!parsed.success || subtype !== 'can_use_tool')
    throw new Error(`it asked in a way that Callboard does not understand ("${subtype}")`);
  return { requestId, toolName: parsed.data.tool_name, input: parsed.data.input };
}

/** How long a process has to end after a signal. */
const GRACE_MS = 1_000;
/** How long the system may take to report the end of a process that no longer reads. */
const EXIT_NOTICE_MS = 500;

/** One launch of the `claude` under test, on a FIFO and a file as in production. */
export interface TestLaunch {
  readonly pid: number;
  /** What it has printed so far. */
  readonly frames: readonly Frame[];
  isRunning(): boolean;
  /** @throws Error that says how the process ended, if it has */
  write(row: Parameters<typeof encodeRow>[0]): Promise<void>;
  /**
   * Resolves with what `find` returns, called at once and whenever there may be something new.
   * @throws Error in words for the report, if the process ends or the signal aborts first
   */
  until<T>(what: string, find: () => T | undefined, signal: AbortSignal): Promise<T>;
  /** There is something new besides the output of the process. */
  wake(): void;
  /** Closes both ends, as the end of an orchestrator would. */
  detach(): void;
  /** Opens both ends again, and continues to read where it stopped. */
  attach(): void;
  /** Ends the process and everything it has started; resolves when all are gone. */
  end(): Promise<void>;
}

export type TestLaunchOptions = SpawnOptions & { launchId: string };

async function startTestLaunch({ launchId, ...options }: TestLaunchOptions): Promise<TestLaunch> {
  const { folder } = options;
  await createLaunchFolder(folder);
  const process = await spawnClaude({ ...options, env: { ...options.env, [LAUNCH_MARKER]: launchId } });
  const ending = new AbortController();
  const frames: Frame[] = [];
  let offset = 0;
  let channel: Channel | null = null;
  let reading: Promise<void> = Promise.resolve();
  let exit: ProcessExit | null = null;
  const waiters = createWaiters(() => exit);
  const { wake } = waiters;

  const exited = process.exited(ending.signal).then(async (how) => {
    channel?.finish();
    await reading;
    exit = how;
    wake();
  });

  async function read(from: Channel): Promise<void> {
    for await (const lines of from.lines()) {
      frames.push(...lines.map(({ text }) => parseFrame(text)));
      offset = lines.at(-1)?.end ?? offset;
      wake();
    }
  }

  function attach(): void {
    channel = openStdioChannel(folder, offset, process.identity.pid);
    reading = read(channel).catch(() => undefined); // whoever waits for more times out
  }

  function detach(): void {
    channel?.close();
    channel = null;
  }

  async function until<T>(what: string, find: () => T | undefined, signal: AbortSignal): Promise<T> {
    try {
      return await waiters.until(what, find, signal);
    } catch (error) {
      const message = error instanceof Error ? error.message : error;
      throw new Error(`${message}${await likelyCause(folder, frames)}`, { cause: error });
    }
  }

  async function write(row: Parameters<typeof encodeRow>[0]): Promise<void> {
    try {
      if (channel === null) attach();
      await channel?.write(encodeRow(row));
    } catch (error) {
      if (!(error instanceof OperationalError)) throw error;
      await settlesWithin(exited, EXIT_NOTICE_MS);
      const how = exit === null ? 'it reads no input' : `it ended (${nameOf(exit)})`;
      throw new Error(`${how}${await likelyCause(folder, frames)}`, { cause: error });
    }
  }

  async function end(): Promise<void> {
    await terminate(process.identity, GRACE_MS);
    await endMarked([launchId], GRACE_MS);
    ending.abort();
    detach();
    await exited;
  }

  const { pid } = process.identity;
  return { pid, frames, isRunning: () => exit === null, write, until, wake, detach, attach, end };
}

/** Waits that are checked again whenever there may be something new. @param exitOf how the process ended, if it has */
function createWaiters(exitOf: () => ProcessExit | null) {
  const checks = new Set<() => void>();
  return {
    wake(): void {
      for (const check of checks) check();
    },
    async until<T>(what: string, find: () => T | undefined, signal: AbortSignal): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const check = () => {
        try {
          const found = find();
          const exit = exitOf();
          if (found !== undefined) resolve(found);
          else if (exit !== null) reject(new Error(`it ended (${nameOf(exit)}) before ${what}`));
        } catch (error) {
          reject(error);
        }
      };
      const onAbort = () => reject(new Error(`timed out waiting for ${what}`));
      checks.add(check);
      signal.addEventListener('abort', onAbort);
      check();
      if (signal.aborted) onAbort();
      try {
        return await promise;
      } finally {
        checks.delete(check);
        signal.removeEventListener('abort', onAbort);
      }
    },
  };
}

/** Its first error message, or its first line that is not JSON: either may be the cause. Empty if there is none. */
async function likelyCause(folder: string, frames: readonly Frame[]): Promise<string> {
  const errors = firstLine(await readFile(launchFiles(folder).errors, 'utf8').catch(() => ''));
  const garbage = frames.find((frame) => frame.kind === 'garbage');
  if (errors !== '') return `: ${errors}`;
  return garbage === undefined
    ? ''
    : `; it printed a line that is not JSON: ${JSON.stringify(firstLine(garbage.text))}`;
}

const firstLine = (text: string) => text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '';

function nameOf(exit: ProcessExit): string {
  if (!exit.known) return 'cause unknown';
  return exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
}
