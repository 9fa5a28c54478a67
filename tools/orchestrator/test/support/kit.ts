import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProjectId, type SessionAlarm } from '@callboard/contract';
import { writeEmulator } from '@callboard/lab/emulator';
import type { OrchestratorConfig } from '@callboard/runtime/supervision';
import { claudeEnvironment, type ScriptedModel, startScriptedModel } from '@callboard/scripted-model';
import { onTestFinished } from 'vitest';
import { createRepository } from '../../../../test-support/git.ts';
import { knowClaude } from '../../../../test-support/known-claude.ts';
import { createDatabase } from '../../../../test-support/postgres.ts';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import type { TimeLimits } from '../../src/compose/context.ts';
import { endAllSessions } from '../../src/end-all-sessions.ts';
import { findMarkedProcesses, LAUNCH_MARKER } from '../../src/platform/process-table.ts';
import { useSpawner } from '../../src/platform/processes.ts';
import type { Platform } from '../../src/platform/runtime.ts';
import { watchAlarms } from './alarms.ts';
import { connect, type Limit, type TestClient } from './client.ts';
import { type RunningOrchestrator, startApart, startHere } from './run-orchestrator.ts';
import { isTestedOnPostgres } from './test-postgres.ts';

/** Whether the store is a PostgreSQL database without the test's asking. Tests with a disk of their own are about a store on it. */
const isInDatabase = ({ isInFile = false, dataDir }: KitOptions) =>
  isTestedOnPostgres && !isInFile && dataDir === undefined;
const SECRET = 'a secret of the tests only';
// The process that starts all others serves all kits of a worker and ends with it: each start of it costs 0.1 s of CPU.
useSpawner();
/**
 * Time limits that a busy machine would exceed, although the test is not about them. An orchestrator in its own process keeps
 * the usual limits.
 */
const PATIENT: Partial<TimeLimits> = {
  graces: { interruptMs: 30_000, endSessionMs: 30_000, signalMs: 30_000 },
  initializeMs: 120_000,
  confirmationMs: 30_000,
};
/** Work in the background that few tests are about: the thread of the search index costs 0.1 s of CPU. A search starts it at once. */
const UNHURRIED: Partial<TimeLimits> = { searchDelayMs: 120_000 };

/** A repository, a scripted model and an orchestrator that runs the real `claude` on it, in their own folder. */
export interface Kit {
  readonly folder: string;
  readonly repo: string;
  readonly dataDir: string;
  readonly projectId: ProjectId;
  readonly model: ScriptedModel;
  /** The environment in which the orchestrator starts. */
  readonly env: Record<string, string>;
  readonly config: OrchestratorConfig;
  client: TestClient;
  /** Starts an orchestrator on the same data; in its own process (`apart`) if the test kills it, which costs a second of CPU more. */
  start(where?: 'here' | 'apart'): Promise<void>;
  /** Stops the orchestrator as SIGTERM would. */
  stop(): Promise<void>;
  /** Ends the orchestrator's own process by SIGKILL. */
  kill(): Promise<void>;
  /** Ends the processes of all idle sessions, as happens after an hour. */
  endIdle(): Promise<void>;
  /** Waits until the session is under alarm. A test fails if one of its sessions comes under an alarm that it did not wait for. */
  alarm(stageId: string, limit?: Limit): Promise<SessionAlarm>;
  /** Creates a stage with this prompt, and starts it. */
  startStage(prompt: string, fields?: Record<string, unknown>): Promise<string>;
}

export interface KitOptions {
  where?: 'here' | 'apart';
  maxParallel?: number;
  limits?: Partial<TimeLimits>;
  /** Whether the emulator runs in place of the real `claude`. */
  isEmulated?: boolean;
  /** Leaves the project as any new one is: its commands run in the sandbox where that works. Most tests are about something else. */
  sandbox?: boolean;
  /** For an orchestrator in the test's own process. */
  platform?: Platform;
  /** The test looks into the store's file: it has one also where `CALLBOARD_TEST_STORE=PostgreSQL` gives every other kit a database. */
  isInFile?: boolean;
  /** An existing folder, for example one on its own file system. */
  dataDir?: string;
  diskReserveMb?: number;
  attentionAfterMinutes?: number;
  claudePath?: string;
  /** A folder with programs that come before those of the machine. */
  programs?: string;
  /** Prepares the repository before the orchestrator starts, so that its git settings are agreed to. */
  before?: (repo: string) => Promise<void>;
  /** Starts without an API key, so that `claude` is not logged in. */
  isLoggedOut?: boolean;
  /** Shares a store with other kits, as a machine of this name. */
  machine?: { databaseUrl: string; name: string };
  /** Where other machines reach it; with a port of its own. */
  machineUrl?: string;
  endSessionsAfterMinutes?: number;
  port?: number;
  /** Starts with a made-up login of claude.ai in place of the API key: such an account has usage limits. */
  hasAccount?: boolean;
}

/** Creates everything an orchestrator needs before it starts. */
async function prepare(given: KitOptions) {
  const folder = await temporaryFolder();
  const repo = await createRepository(join(folder, 'shop'));
  const model = await startScriptedModel();
  onTestFinished(() => model.close());
  await mkdir(join(folder, 'tmp'));
  await given.before?.(repo);
  const own = given.programs === undefined ? '' : `${given.programs}:`;
  const path = `${own}${dirname(process.execPath)}:${process.env.PATH ?? ''}`;
  const key: Record<string, string> = {
    ...((given.isLoggedOut || given.hasAccount) && { ANTHROPIC_API_KEY: '' }),
    ...(given.hasAccount && { CLAUDE_CODE_OAUTH_TOKEN: 'made-up' }),
  };
  const env = { ...claudeEnvironment(model.url, join(folder, 'home'), path), ...key, TMPDIR: join(folder, 'tmp') };
  const config: OrchestratorConfig = {
    dataDir: given.dataDir ?? join(folder, 'data'),
    host: '127.0.0.1',
    port: given.port ?? 0,
    secret: SECRET,
    claudePath: given.isEmulated ? await writeEmulator(join(folder, 'emulator')) : (given.claudePath ?? REAL_CLAUDE),
    maxParallel: given.maxParallel ?? 4,
    agentUser: null,
    diskReserveMb: given.diskReserveMb ?? 0,
    attentionAfterMinutes: given.attentionAfterMinutes ?? 10,
    repos: [repo],
    startedIn: null,
    startCommand: 'npx callboard start',
    tokenSha256: null,
    publicUrl: null,
    databaseUrl: given.machine?.databaseUrl ?? (isInDatabase(given) ? await createDatabase() : null),
    machineName: given.machine?.name ?? null,
    machineUrl: given.machineUrl ?? null,
    endSessionsAfterMinutes: given.endSessionsAfterMinutes ?? null,
  };
  if (config.claudePath === REAL_CLAUDE) await knowClaude(config.dataDir);
  return { folder, repo, model, env, config, dataDir: config.dataDir };
}

/** Starts a kit; removes all of it at the end of the test, and fails the test if a process is left. */
export async function createKit(options: KitOptions = {}): Promise<Kit> {
  const { where = 'here', limits = {}, sandbox = false, platform } = options;
  const prepared = await prepare(options);
  const { config, env, dataDir } = prepared;
  let orchestrator: RunningOrchestrator | undefined;
  const alarms = watchAlarms();
  const kit: Kit = {
    ...prepared,
    projectId: ProjectId.parse('shop'),
    client: undefined as unknown as TestClient,
    async start(where = 'here') {
      orchestrator =
        where === 'here'
          ? await startHere(config, env, { ...PATIENT, ...UNHURRIED, ...limits }, platform)
          : await startApart(config, env);
      kit.client = await connect(orchestrator.port, SECRET);
      alarms.watch(kit.client);
    },
    async stop() {
      kit.client?.close();
      await orchestrator?.stop();
      orchestrator = undefined;
    },
    async kill() {
      await orchestrator?.kill();
      orchestrator = undefined;
    },
    endIdle: async () => orchestrator?.endIdle(),
    alarm: (stageId, limit) => alarms.wait(kit.client, stageId, limit),
    async startStage(prompt, fields = {}) {
      const { stage } = await kit.client.command('create_stage', {
        projectId: 'shop',
        title: 'A stage',
        prompt,
        ...fields,
      });
      await kit.client.command('start_stage', { stageId: stage.id });
      return stage.id;
    },
  };
  onTestFinished(async () => {
    await kit.stop();
    const { failed } = await endAllSessions(dataDir, { log: () => undefined });
    if (failed.length > 0) throw new Error(`processes of ${failed.join(', ')} could not be ended`);
    await requireNoProcesses(dataDir);
    alarms.requireExpected();
  });
  await kit.start(where);
  if (!sandbox) await kit.client.command('update_project', { projectId: 'shop', settings: { sandbox } });
  return kit;
}

/** Resolves when Claude has confirmed the answer: the reply waits only two seconds for that, which may not be enough. */
export async function untilConfirmed({ client }: Kit, requestId: string): Promise<void> {
  await client.event(
    'decision-updated',
    (decision) => decision.requestId === requestId && decision.delivery === 'confirmed',
  );
}

async function requireNoProcesses(dataDir: string): Promise<void> {
  const pids = [...(await findMarkedProcesses()).values()].flat();
  const lines = pids.map(async (pid) => `${pid} ${await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')}`);
  const left = (await Promise.all(lines))
    .filter((line) => line.includes(dataDir))
    .map((line) => line.replaceAll('\0', ' '));
  if (left.length > 0) throw new Error(`left running (${LAUNCH_MARKER}): ${left.join('; ')}`);
}
