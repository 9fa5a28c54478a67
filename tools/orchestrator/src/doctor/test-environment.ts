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

/** An empty home, an empty working folder, a model on loopback, and between them the `claude` under test. */
export interface TestEnvironment extends AsyncDisposable {
  /** Where it works. */
  readonly cwd: string;
  /** A folder that it has to ask for. */
  readonly outside: string;
  release: ScriptedModel['release'];
  /** A talk with the process that runs, or with a new one whose handshake is done. */
  talk(signal: AbortSignal): Promise<TestConversation>;
  /** Ends the process that runs, and talks with one that goes on with a conversation. */
  resume(sessionId: string, signal: AbortSignal): Promise<TestConversation>;
  /** Which of these messages stand in a conversation; for when its process has ended. */
  written(sessionId: string, messageIds: readonly string[]): ReturnType<typeof messagesInConversation>;
  /** Ends the process that runs: what it was at is of no use to the next talk. */
  discard(): Promise<void>;
}

export interface TestEnvironmentOptions {
  /** The program under test. */
  claude: string;
  /** `PATH` for it. */
  path: string | undefined;
  /** Let everything else on the machine go first. */
  isQuiet?: boolean;
  /** Stops in the middle. */
  signal: AbortSignal;
}

/** Nothing of it is left once it was disposed of, and hardly anything if we are killed before. */
export async function createTestEnvironment(options: TestEnvironmentOptions): Promise<TestEnvironment> {
  const { claude, path, isQuiet = false } = options;
  await using stack = new AsyncDisposableStack();
  const root = await realpath(await mkdtemp(join(tmpdir(), 'callboard-doctor-')));
  stack.defer(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  const guard = await startCleanupGuard(root);
  stack.defer(guard.dismiss);
  const [home, cwd, outside, tmp] = ['home', 'work', 'outside', 'tmp'].map((name) => join(root, name));
  if (!home || !cwd || !outside || !tmp) throw new Error('unreachable');
  for (const folder of [home, cwd, outside, tmp]) await mkdir(folder);
  await writeTestSettings(home, cwd);
  let current: TestLaunch | null = null;
  const model = await startScriptedModel({ log: () => current?.wake() });
  stack.defer(model.close);
  const discard = async () => {
    const trial = current;
    current = null;
    await trial?.end();
  };
  stack.defer(discard);
  const env = { ...claudeEnvironment(model.url, home, path), TMPDIR: tmp };
  const flags = await readFlags(claude, env, options.signal);

  async function launch(
    conversation: { start: string } | { resume: string },
    signal: AbortSignal,
  ): Promise<TestConversation> {
    await discard();
    signal.throwIfAborted();
    const launchId = `doctor-${randomUUID()}`;
    const folder = join(root, 'launches', launchId);
    const args = claudeArguments({
      ...{ dataDir: root, permissionMode: 'default', model: null, effort: null, allow: [], directories: [] },
      hosts: [],
      sessionMessages: false,
      flags,
      ask: [],
      deny: [],
      sandbox: null,
      userSettingsOnly: null,
      conversation,
    });
    current = await startTestLaunch({ command: claude, args, cwd: cwd ?? root, env, folder, launchId });
    await guard.watch(current.pid);
    if (isQuiet) letOthersFirst(current.pid);
    await createTestConversation(current, model.requests, signal).control({ subtype: 'initialize' });
    return createTestConversation(current, model.requests, signal);
  }

  const all = stack.move();
  return {
    cwd,
    outside,
    release: model.release,
    talk: async (signal) =>
      current?.isRunning()
        ? createTestConversation(current, model.requests, signal)
        : launch({ start: randomUUID() }, signal),
    resume: (sessionId, signal) => launch({ resume: sessionId }, signal),
    written: (sessionId, messageIds) => messagesInConversation(env, sessionId, messageIds),
    discard,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** It may have ended already, or the system may not allow it: the trial goes on all the same. */
function letOthersFirst(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {}
}
