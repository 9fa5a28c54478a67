import {
  DEFAULT_TIME_LIMIT,
  type StageId,
  type WorkspaceKey,
  type WorkspaceSettings,
  type WorktreeCommand,
} from '@callboard/contract';
import { AppError, Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { pathExists } from '../lib/path-exists.ts';
import type { Store } from '../store/store.ts';
import type { Ports } from './ports.ts';
import { noCommand, setState } from './set-up.ts';
import type { RunningCommand, WorktreeCommands } from './worktree-commands.ts';

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
