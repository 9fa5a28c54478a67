import {
  type CommandSetting,
  DEFAULT_TIME_LIMIT,
  type Stage,
  type StageId,
  type WorkspaceKey,
  type WorkspaceSettings,
  type WorktreeCommand,
} from '@callboard/contract';
import { orAborted } from '@callboard/runtime/waits';
import { AppError, OperationalError, Rejection } from '../../lib/errors.ts';
import { pathExists } from '../../platform/files.ts';
import type { Logger } from '../../platform/runtime.ts';
import { requireStage, type Store } from '../../store/store.ts';
import type { Ports, RunningCommand, WorktreeCommands } from './worktree-commands.ts';

export interface CleanUpDeps {
  store: Store;
  log: Logger;
  commands: WorktreeCommands;
  ports: Ports;
  /** As in `SetUpDeps`. */
  settingsOf: (stageId: StageId, key: WorkspaceKey) => Promise<WorkspaceSettings>;
  /** How long a clean-up may take while somebody waits for the removal of the worktree. */
  beforeRemovalMs?: number;
}

/** Ends what runs in a worktree, and cleans it up: when its stage is done, and before it is removed. */
export interface CleanUp {
  /** Does so in the background. Its failure is shown with the stage and changes nothing else. */
  afterDone(stageId: StageId): void;
  /** Does so now, unless it was cleaned up when its stage was done. Never rejects. */
  beforeRemoval(stageId: StageId): Promise<void>;
  /** Runs the clean-up for a person. @throws Rejection `no_worktree`, `no_command`, `command_running` */
  runAgain(stageId: StageId, by: string): Promise<WorktreeCommand>;
  /** Resolves when none is being begun. */
  settled(): Promise<void>;
}

export function createCleanUp({
  store,
  log,
  commands,
  ports,
  settingsOf,
  beforeRemovalMs = BEFORE_REMOVAL_MS,
}: CleanUpDeps): CleanUp {
  const under = new Set<Promise<void>>();

  /** @param maxMs ends it after this long, whatever its own limit is */
  async function begin(stageId: StageId, by: string | null, maxMs = Infinity): Promise<RunningCommand | null> {
    const stage = await store.read.stages.find(stageId);
    const { cleanup } = await settingsOf(stageId, 'cleanup');
    if (stage?.worktree == null || cleanup === null || !(await pathExists(stage.worktree.path))) return null;
    const running = await commands.start({
      stageId,
      kind: 'cleanup',
      name: 'cleanup',
      command: cleanup.command,
      by,
      timeLimitMs: Math.min((cleanup.timeLimit ?? DEFAULT_TIME_LIMIT) * 1_000, maxMs),
    });
    // A stage that is reopened needs what was cleaned up.
    if (stage.setup === 'done') await setState(store, stageId, 'due');
    return running;
  }

  async function cleanUp(stageId: StageId, reason: string, maxMs?: number): Promise<void> {
    await commands.endAllOf(stageId, reason);
    try {
      await (await begin(stageId, null, maxMs))?.ended;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      log.info({ stageId, reason: error.message }, 'a worktree was not cleaned up');
    }
  }

  async function isCleanedUp(stageId: StageId): Promise<boolean> {
    const stage = await store.read.stages.find(stageId);
    const newest = (await store.read.worktreeCommands.listOf(stageId)).findLast(({ kind }) => kind === 'cleanup');
    return newest?.state === 'passed' && stage?.completedAt != null && newest.startedAt >= stage.completedAt;
  }

  /** A stage that was reopened meanwhile may have servers on its ports. */
  async function releaseIfDone(stageId: StageId): Promise<void> {
    if ((await store.read.stages.find(stageId))?.completedAt != null) await ports.release(stageId);
  }

  return {
    afterDone(stageId) {
      const work = cleanUp(stageId, 'Its stage is done.')
        .then(() => releaseIfDone(stageId))
        .catch((error: unknown) => log.error({ err: error, stageId }, 'cleaning up a worktree failed'));
      under.add(work);
      void work.finally(() => under.delete(work));
    },
    async beforeRemoval(stageId) {
      const isClean = await isCleanedUp(stageId).catch(() => false);
      const work = isClean ? commands.endAllOf(stageId, REMOVED) : cleanUp(stageId, REMOVED, beforeRemovalMs);
      await work.catch((error: unknown) => log.error({ err: error, stageId }, 'cleaning up a worktree failed'));
    },
    async runAgain(stageId, by) {
      const running = await begin(stageId, by);
      if (running !== null) return running.command;
      if ((await settingsOf(stageId, 'cleanup')).cleanup === null) throw noCommand('clean-up');
      throw new Rejection('no_worktree', `${stageId} has no worktree.`);
    },
    settled: async () => void (await Promise.allSettled(under)),
  };
}

/** Somebody waits for the removal. */
const BEFORE_REMOVAL_MS = 60_000;

const REMOVED = 'Its worktree is being removed.';

export interface SetUpDeps {
  store: Store;
  log: Logger;
  commands: WorktreeCommands;
  /** The settings in force for the stage, for running something. @throws Rejection `settings_invalid`, `settings_not_agreed` */
  settingsOf: (stageId: StageId, key: WorkspaceKey) => Promise<WorkspaceSettings>;
  /** The settings in force for a stage that has no worktree. @throws Rejection `settings_invalid` */
  settingsOfNew: (stage: Stage) => Promise<Pick<WorkspaceSettings, 'base' | 'fetch'>>;
}

/** Sets up new worktrees before Claude starts in them. */
export interface SetUp {
  /**
   * Runs the set-up of the stage's worktree if it is due. It counts as done only once it has passed: after a crash it runs again.
   * @param onBegun called when there is something to wait for
   * @throws OperationalError `setup_failed`; Rejection `settings_invalid`, `settings_not_agreed`; the signal's reason
   */
  run(stageId: StageId, signal: AbortSignal, onBegun: () => void): Promise<void>;
  /** Where the worktree of a new stage begins: as the stage says, or else its project. @throws Rejection `settings_invalid` */
  baseOf(stage: Stage): Promise<{ base: string | null; fetch: boolean }>;
  /** Runs it for a person, whether or not it is due, in an existing worktree. @throws Rejection `no_worktree`, `no_command` */
  runAgain(stageId: StageId, by: string): Promise<WorktreeCommand>;
  /** The stage starts without it. @throws Rejection `unknown_stage` */
  skip(stageId: StageId): Promise<void>;
  /** Ends a set-up that Claude's start waits for. False: there is none. */
  stop(stageId: StageId, reason: string): Promise<boolean>;
}

/** How much of the output the words of a failure have. */
const REPORTED_BYTES = 600;

export function createSetUp({ store, log, commands, settingsOf, settingsOfNew }: SetUpDeps): SetUp {
  /** Runs that a start waits for. */
  const waitedFor = new Map<StageId, string>();

  const begin = (stageId: StageId, setting: CommandSetting, by: string | null): Promise<RunningCommand> =>
    commands.start({
      stageId,
      kind: 'setup',
      name: 'setup',
      command: setting.command,
      by,
      timeLimitMs: (setting.timeLimit ?? DEFAULT_TIME_LIMIT) * 1_000,
    });

  async function failure(ended: WorktreeCommand): Promise<OperationalError> {
    const tail = await commands.tail(ended, REPORTED_BYTES);
    const text = `The set-up of the worktree (${ended.command}) did not succeed, so Claude was not started. ${ended.reason ?? ''}`;
    return new OperationalError('setup_failed', `${text.trim()}${tail === '' ? '' : `\n${tail}`}`);
  }

  return {
    async run(stageId, signal, onBegun) {
      if (!isDue(await requireStage(store.read, stageId))) return;
      const { setup } = await settingsOf(stageId, 'setup');
      if (setup === null) return setState(store, stageId, 'done');
      const { command, ended } = await begin(stageId, setup, null);
      waitedFor.set(stageId, command.id);
      onBegun();
      try {
        const end = await orAborted(ended, signal);
        if (end.state !== 'passed') throw await failure(end);
        await setState(store, stageId, 'done');
      } finally {
        waitedFor.delete(stageId);
      }
    },
    async baseOf(stage) {
      const { base, fetch } = await settingsOfNew(stage);
      return { base: stage.base ?? base, fetch };
    },
    async runAgain(stageId, by) {
      const { setup } = await settingsOf(stageId, 'setup');
      if (setup === null) throw noCommand('set-up');
      const { command, ended } = await begin(stageId, setup, by);
      void ended.then(async ({ state }) => {
        if (state !== 'passed') return;
        await setState(store, stageId, 'done').catch((error: unknown) => {
          // Its stage was removed meanwhile. Otherwise it stays due, and runs again.
          if (!(error instanceof Rejection)) log.error({ err: error, stageId }, 'a set-up that passed was not stored');
        });
      });
      return command;
    },
    skip: (stageId) => setState(store, stageId, 'skipped'),
    async stop(stageId, reason) {
      const id = waitedFor.get(stageId);
      if (id === undefined) return false;
      await commands.endAllOf(stageId, reason);
      return true;
    },
  };
}

/** The refusal of a command that the project does not have. */
const noCommand = (what: string): Rejection =>
  new Rejection('no_command', `The project has no ${what} command. Add one in its settings, or in callboard.yaml.`);

/** A stage that an older Callboard started did without. */
const isDue = ({ setup }: Stage): boolean => setup === 'due';

/** Stores how far the set-up of the stage's worktree is. */
async function setState(store: Store, stageId: StageId, setup: Stage['setup']): Promise<void> {
  await store.transact(async (tx) => {
    const stage = await requireStage(tx, stageId);
    if (stage.setup === setup) return;
    const updated = { ...stage, setup, updatedAt: tx.now };
    await tx.stages.update(updated);
    await tx.emit({ type: 'stage-updated', data: { stageId, stage: updated } });
  });
}
