import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { claudeEnvironment, type ScriptedModel, startScriptedModel } from '@callboard/scripted-model';
import { messagesInConversation } from '../claude/conversation-file.ts';
import { claudeArguments } from '../claude/launch/arguments.ts';
import { readFlags } from '../claude/program/claude-program.ts';
import { startCleanupGuard } from './cleanup-guard.ts';
import { createTestConversation, type TestConversation } from './test-conversation.ts';
import { startTestLaunch, type TestLaunch } from './test-launch.ts';
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
