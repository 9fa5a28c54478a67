import type { StageId, StageMerge } from '@callboard/contract';
import { pause } from '@callboard/runtime/waits';
import type { Platform } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { MergeIntent } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Merged, Worktrees } from '../worktrees/worktrees.ts';
import type { StageEndings } from './stage-endings.ts';

export interface MergeIntentsDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'settleMerge' | 'settleUndo'>;
  endings: StageEndings;
  platform: Pick<Platform, 'newId'>;
  log: Logger;
  /** Whether a process with this variable is alive, as `NAME=value`. */
  hasProcessWith: (variable: string) => Promise<boolean>;
}

/**
 * Merges and their undoing, recorded before git runs. After a crash between git and the store, git tells what became of them, so
 * a stage never says that it was merged when it was not, or the other way round.
 */
export interface MergeIntents {
  /** Records an intent; on disk when it resolves. Returns the variables that mark the git of it. */
  begin(stageId: StageId, kind: MergeIntent['kind'], merge: Merged | StageMerge, actor: string): Promise<Marker>;
  /** Forgets the intent: git has refused, and nothing has changed. */
  drop(stageId: StageId): Promise<void>;
  /** Stores what became of a stage's intent that was left behind, if there is one. Waits for its git to end. */
  settle(stageId: StageId, signal: AbortSignal): Promise<void>;
  /** The stages with an intent. */
  pending(): Promise<{ stageId: StageId; isRunning: boolean }[]>;
}

type Marker = Readonly<Record<string, string>>;

const MARKER = 'CB_MERGE';
const CHECK_INTERVAL_MS = 100;
/** Git's own limit is a minute (`run-git.ts`). What still carries the marker later was started by it and is no merge. */
const GIT_ENDS_MS = 70_000;

export function createMergeIntents(deps: MergeIntentsDeps): MergeIntents {
  const { store, worktrees, endings, platform, log, hasProcessWith } = deps;
  const isRunning = ({ id }: MergeIntent) => hasProcessWith(`${MARKER}=${id}`);

  async function untilGitEnded(intent: MergeIntent, signal: AbortSignal): Promise<void> {
    // A killed orchestrator leaves its git to finish.
    for (let waited = 0; waited < GIT_ENDS_MS && (await isRunning(intent)); waited += CHECK_INTERVAL_MS) {
      await pause(CHECK_INTERVAL_MS, signal);
      signal.throwIfAborted();
    }
  }

  async function settleOne(intent: MergeIntent): Promise<void> {
    const { stageId, kind, merge, actor } = intent;
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    if (project === null) return;
    log.info({ stageId, kind }, 'settling an interrupted merge');
    const { since = Date.parse(merge.at) } = intent;
    if (kind === 'undo') {
      const { isUndone, foreign } = await worktrees.settleUndo(project, merge, since);
      if (isUndone) return endings.undone(stageId, actor, foreign);
      return endings.interrupted(stageId, { kind, merge, foreign });
    }
    const { commit, foreign } = await worktrees.settleMerge(project, merge, since);
    if (commit === null) return endings.interrupted(stageId, { kind, merge, foreign });
    try {
      await endings.done(stageId, { ...merge, commit }, actor, foreign);
    } catch (error) {
      if (!(error instanceof Rejection)) throw error; // the stage works again; its transcript tells of the merge
    }
  }

  const find = async (stageId: StageId) =>
    (await store.read.mergeIntents.list()).find((intent) => intent.stageId === stageId) ?? null;
  const drop = (stageId: StageId) => store.transact((tx) => tx.mergeIntents.remove(stageId));

  return {
    async begin(stageId, kind, merge, actor) {
      await store.sync(); // a power cut must not lose the records of work that is merged
      return store.transact(async (tx) => {
        const id = platform.newId();
        const since = Date.now();
        await tx.mergeIntents.save({ stageId, id, kind, merge: { at: tx.now, ...merge }, since, actor });
        return { [MARKER]: id };
      });
    },
    drop,
    async settle(stageId, signal) {
      const intent = await find(stageId);
      if (intent === null) return;
      await untilGitEnded(intent, signal);
      await settleOne(intent);
    },
    pending: async () =>
      Promise.all(
        (await store.read.mergeIntents.list()).map(async (intent) => ({
          stageId: intent.stageId,
          isRunning: await isRunning(intent),
        })),
      ),
  };
}
