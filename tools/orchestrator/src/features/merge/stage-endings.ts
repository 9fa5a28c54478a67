import type { MergeMethod, Stage, StageId, StageMerge, Worktree } from '@callboard/contract';
import { pause } from '@callboard/runtime/waits';
import { changeSession, reopenStage } from '../../core/session/change-session.ts';
import { addNotice, type Notice } from '../../core/session/session-change.ts';
import { requireCompletable } from '../../core/session/stages.ts';
import type { Merged, Worktrees } from '../../core/worktrees/worktrees.ts';
import { changedMeanwhile, Rejection } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { MergeIntent } from '../../store/records.ts';
import { requireStage, type Store, type Tx } from '../../store/store.ts';

/** Stores that a stage is done, or no longer: with its merge, and without its intent. */
export interface StageEndings {
  /**
   * Marks the stage done, or a done stage merged.
   * @throws Rejection `stage_running` if it got work during the merge: the transcript then tells of the merge; as
   *   `requireCompletable` if nothing was merged
   */
  done(
    stageId: StageId,
    merged: Omit<StageMerge, 'at'> | null,
    actor: string,
    foreign?: readonly string[],
  ): Promise<void>;
  /** Takes the last completion back: the stage is as before it. @throws Rejection `not_done` */
  undone(stageId: StageId, actor: string, foreign?: readonly string[]): Promise<void>;
  /** Tells that a merge, or its undoing, was interrupted and has changed nothing. */
  interrupted(stageId: StageId, what: Interrupted): Promise<void>;
}

/** A merge, or its undoing, that was taken back. */
export interface Interrupted {
  kind: MergeIntent['kind'];
  merge: StageMerge;
  /** Files in the main checkout that somebody else changed meanwhile. */
  foreign: readonly string[];
}

const short = (commit: string): string => commit.slice(0, 7);

export interface StageEndingsDeps {
  store: Store;
  /** Called when a stage is done that was not before. */
  onDone?: (stageId: StageId) => void;
}

export function createStageEndings({ store, onDone = () => undefined }: StageEndingsDeps): StageEndings {
  return {
    async done(stageId, merged, actor, foreign = []) {
      const isDone = await store.transact(async (tx) => {
        await tx.mergeIntents.remove(stageId);
        const stage = await requireStage(tx, stageId);
        if (merged === null) await requireCompletable(tx, stage);
        else await addMergeNotice(tx, stageId, merged, actor);
        await addForeignNotice(tx, stageId, foreign);
        const saved = merged === null ? null : { ...merged, at: tx.now };
        const worktree = withMerge(stage.worktree, saved);
        // A message has started it again meanwhile.
        const isDone = (await tx.sessions.find(stageId))?.launchId == null;
        if (isDone && stage.completedAt === null) tx.afterCommit(() => onDone(stageId));
        if (isDone) await save(tx, { ...stage, worktree, merged: saved, completedAt: stage.completedAt ?? tx.now });
        else if (worktree !== stage.worktree) await save(tx, { ...stage, worktree });
        return isDone;
      });
      if (isDone || merged === null) return;
      const message = `Merged into ${merged.into} as ${short(merged.commit)}, but ${stageId} got work at the same moment, so it is not done.`;
      throw new Rejection('stage_running', message);
    },

    undone: (stageId, actor, foreign = []) =>
      store.transact(async (tx) => {
        await tx.mergeIntents.remove(stageId);
        const stage = await requireStage(tx, stageId);
        const { completedAt, merged } = stage;
        if (completedAt === null) throw new Rejection('not_done', `${stageId} is not done.`);
        if (merged !== null) await addUndoNotice(tx, stageId, merged, actor);
        await addForeignNotice(tx, stageId, foreign);
        // Merged later than it was completed: only the merge is taken back.
        const before = { ...stage, worktree: withoutMerge(stage.worktree, merged) };
        if (merged !== null && merged.at !== completedAt) await save(tx, { ...before, merged: null });
        else await reopenStage(tx, before, actor);
      }),

    interrupted: (stageId, { kind, merge, foreign }) =>
      store.transact(async (tx) => {
        await tx.mergeIntents.remove(stageId);
        const { method, branch, into, commit } = merge;
        const was =
          kind === 'merge' ? `the ${method} of ${branch} into ${into}` : `undoing the ${method} ${short(commit)}`;
        const text =
          kind === 'merge'
            ? `Callboard was ended during ${was}. Nothing was merged, and the main checkout is as before. Complete the stage again.`
            : `Callboard was ended while it was ${was}. The ${method} stays in ${into}. Undo it again if you still want that.`;
        await addMergeEntry(tx, stageId, { level: 'warning', code: 'merge-undone', text });
        await addForeignNotice(tx, stageId, foreign);
      }),
  };
}

/** Records a squash or a rebase, which git cannot tell from the branch's history; a pull request may have been either. */
function withMerge(worktree: Worktree | null, merged: StageMerge | null): Worktree | null {
  if (worktree === null || merged === null) return worktree;
  if (merged.method === 'merge' && merged.pullRequest === null) return worktree;
  return { ...worktree, merges: [...(worktree.merges ?? []), merged] };
}

function withoutMerge(worktree: Worktree | null, merged: StageMerge | null): Worktree | null {
  if (worktree?.merges === undefined || merged === null) return worktree;
  return {
    ...worktree,
    merges: worktree.merges.filter(({ at, commit }) => at !== merged.at || commit !== merged.commit),
  };
}

async function save(tx: Tx, stage: Stage): Promise<void> {
  const changed = { ...stage, updatedAt: tx.now };
  await tx.stages.update(changed);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: changed } });
}

const DID: Readonly<Record<MergeMethod, string>> = { merge: 'merged', squash: 'squashed', rebase: 'rebased' };

const counted = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;

async function addMergeNotice(tx: Tx, stageId: StageId, merged: Omit<StageMerge, 'at'>, actor: string): Promise<void> {
  const { method, branch, commits, into, commit, previous, pullRequest } = merged;
  const ofHost = `Pull request #${pullRequest} was merged into ${into} on ${actor}: ${short(commit)}.`;
  const text =
    pullRequest !== null
      ? ofHost
      : previous === null
        ? `${into} already had ${branch} (${counted(commits, 'commit')}) at ${short(commit)}.`
        : `${actor} ${DID[method]} ${branch} (${counted(commits, 'commit')}) ${method === 'rebase' ? 'onto' : 'into'} ${into}: ${short(commit)}.`;
  await addTo(tx, stageId, 'merged', text);
}

async function addUndoNotice(tx: Tx, stageId: StageId, merged: StageMerge, actor: string): Promise<void> {
  const { method, into, previous, commit } = merged;
  if (previous === null) return;
  const text = `${actor} undid the ${method} ${short(commit)}: ${into} is at ${short(previous)} again.`;
  await addTo(tx, stageId, 'merge-undone', text);
}

async function addForeignNotice(tx: Tx, stageId: StageId, foreign: readonly string[]): Promise<void> {
  if (foreign.length === 0) return;
  await addMergeEntry(tx, stageId, { level: 'warning', code: 'merge-undone', text: changedMeanwhile(foreign) });
}

async function addTo(tx: Tx, stageId: StageId, code: MergeNotice['code'], text: string): Promise<void> {
  await addMergeEntry(tx, stageId, { level: 'info', code, text });
}

type MergeNotice = Notice & { code: 'merged' | 'merge-undone' };

async function addMergeEntry(tx: Tx, stageId: StageId, notice: MergeNotice): Promise<void> {
  if ((await tx.sessions.find(stageId)) === null) return;
  await changeSession(tx, stageId, (change) => addNotice(change, tx.now, notice));
}

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
