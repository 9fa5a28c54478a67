import {
  type CommandInput,
  type Completion,
  isActive,
  type MergeMethod,
  type Project,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { pause } from '@callboard/runtime/waits';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { requireNoAwaitedTasks } from '../../core/session/background-tasks.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { requireCompletable } from '../../core/session/stages.ts';
import type { Merged, Worktrees } from '../../core/worktrees/worktrees.ts';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import { requireProject, requireStage, type Store } from '../../store/store.ts';
import type { MergeIntents, StageEndings } from './stage-endings.ts';

export interface StageCompletionDeps {
  store: Store;
  log: Logger;
  worktrees: Pick<
    Worktrees,
    | 'requireMergeable'
    | 'requireCommittable'
    | 'commit'
    | 'merge'
    | 'planMerge'
    | 'takeOutPlaceholders'
    | 'undoRefusal'
    | 'undoMerge'
    | 'addNote'
  >;
  intents: MergeIntents;
  endings: StageEndings;
  /** Returns the stage's receipt, for a note about its merge. */
  receiptOf: (stageId: StageId) => Promise<string>;
  /** Ends the stage's process if it is idle. Returns false if it got work at the same moment. */
  endIfIdle: (stageId: StageId, reason: string) => Promise<boolean>;
}

/** Between two attempts to settle what was interrupted. */
const SETTLE_AGAIN_MS = 5_000;
/** How long a start waits for what was interrupted. */
const SETTLES_MS = 20_000;
/** How long a stop waits for merges. The supervisor waits for five seconds. */
const ENDS_MS = 3_000;

type CompleteInput = CommandInput<'complete_stage'>;

/** Completes stages, merges their work, and takes both back. */
export interface StageCompletion {
  /**
   * Marks a stage done. Ends an idle process first, and on request commits and merges its work; a done stage can be merged later.
   * @throws Rejection as `requireCompletable`, `Worktrees.commit` and `Worktrees.merge` do; `stage_running` if the stage got work
   *   meanwhile
   */
  complete(input: CompleteInput, actor: string): Promise<void>;
  /** Takes the last completion back. @throws Rejection `not_done`; `undo_refused` if its merge has to stay */
  undo(stageId: StageId, actor: string): Promise<void>;
  /** As `Worktrees.takeOutPlaceholders`. @throws Rejection `stage_running` while Claude works; `commit_refused` */
  takeOutPlaceholders(stageId: StageId): Promise<string[]>;
  /** Returns what completing would merge now, and whether the last completion can be taken back. Changes nothing. */
  preview(stageId: StageId, method?: MergeMethod): Promise<Completion>;
  /**
   * Marks a stage done whose pull request was merged on the code host. Ends an idle process first.
   * @throws Rejection `stage_running` if it works at the moment; `session_alarm`
   */
  mergedElsewhere(stageId: StageId, merged: Merged, actor: string): Promise<void>;
  /** Stores what became of merges that a crash interrupted. Does not wait for those whose git still runs. */
  settleInterrupted(): Promise<void>;
  stop(): Promise<void>;
}

export function createStageCompletion(deps: StageCompletionDeps): StageCompletion {
  const { store, worktrees, intents, endings, log } = deps;
  const turns = createTurns(intents, log);
  const settled = turns.settle;

  async function find(stageId: StageId): Promise<{ stage: Stage; project: Project }> {
    const stage = await requireStage(store.read, stageId);
    return { stage, project: await requireProject(store.read, stage.projectId) };
  }

  return {
    complete: (input, actor) =>
      turns.take(input.stageId, async () => {
        await settled(input.stageId);
        await complete(deps, { ...(await find(input.stageId)), input, actor });
      }),

    mergedElsewhere: (stageId, merged, actor) =>
      turns.take(stageId, async () => {
        await settled(stageId);
        const { stage } = await find(stageId);
        if (stage.merged !== null) return;
        await requireEnded(deps, stageId);
        await endings.done(stageId, merged, actor);
      }),

    undo: (stageId, actor) =>
      turns.take(stageId, async () => {
        await settled(stageId);
        const { stage, project } = await find(stageId);
        if (stage.completedAt === null) throw new Rejection('not_done', `${stageId} is not done.`);
        const { merged } = stage;
        if (merged !== null && merged.previous !== null) {
          const marker = await intents.begin(stageId, 'undo', merged, actor);
          await orDrop(intents, stageId, worktrees.undoMerge(project, merged, marker));
        }
        await endings.undone(stageId, actor);
      }),

    takeOutPlaceholders: (stageId) =>
      turns.take(stageId, async () => {
        await settled(stageId);
        const { stage, project } = await find(stageId);
        const session = await store.read.sessions.find(stageId);
        if (session?.turnRunning === true)
          throw new Rejection(
            'stage_running',
            `Claude is working on ${stageId}. Interrupt it or wait, then try again.`,
          );
        return stage.worktree === null ? [] : worktrees.takeOutPlaceholders(project, stage.worktree);
      }),

    async preview(stageId, method = 'merge') {
      const { stage, project } = await find(stageId);
      const { worktree, merged, completedAt, title } = stage;
      const idea = { method, title };
      const planned = worktree === null ? null : await orNull(worktrees.planMerge(project, worktree, idea));
      const waits = await refusalOf(() => requireNoWork(store, stageId));
      const plan = planned === null || waits === null ? planned : { ...planned, refusal: waits };
      if (completedAt === null) return { plan, undo: null };
      return { plan, undo: { refusal: merged === null ? null : await worktrees.undoRefusal(project, merged) } };
    },

    async settleInterrupted() {
      for (const { stageId, isRunning } of await intents.pending()) {
        const settling = turns.settleLater(stageId);
        if (!isRunning) await settlesWithin(settling, SETTLES_MS);
      }
    },

    stop: turns.stop,
  };
}

/** A stage is completed, or that taken back, once at a time; what was interrupted is settled between. */
interface Turns {
  take<T>(stageId: StageId, work: () => Promise<T>): Promise<T>;
  /** Settles what was interrupted, during a turn. @throws OperationalError `worktree_failed` */
  settle(stageId: StageId): Promise<void>;
  /** Settles what was interrupted, until it works: the disk may be full at first. Never rejects. */
  settleLater(stageId: StageId): Promise<void>;
  stop(): Promise<void>;
}

function createTurns(intents: MergeIntents, log: Logger): Turns {
  const stopping = new AbortController();
  const byStage = createKeyedMutex();
  const settling = new Set<Promise<void>>();
  const taken = new Set<Promise<unknown>>();
  const settle = (stageId: StageId) => intents.settle(stageId, stopping.signal);

  async function retrySettling(stageId: StageId): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        return await byStage(stageId, () => settle(stageId));
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.error({ err: error, stageId }, 'settling an interrupted merge failed');
        await pause(SETTLE_AGAIN_MS, stopping.signal);
      }
    }
  }

  function settleLater(stageId: StageId): Promise<void> {
    const one = retrySettling(stageId).finally(() => settling.delete(one));
    settling.add(one);
    return one;
  }

  return {
    settle,
    settleLater,
    take(stageId, work) {
      const done = byStage(stageId, work).catch((error: unknown) => {
        if (!(error instanceof Rejection)) void settleLater(stageId); // git may have left an intent
        throw error;
      });
      const ended = done.catch(() => undefined).finally(() => taken.delete(ended));
      taken.add(ended);
      return done;
    },
    async stop() {
      // Git that is killed in the middle would have to be settled at the next start.
      await settlesWithin(Promise.all(taken), ENDS_MS);
      stopping.abort();
      await Promise.all(settling);
    },
  };
}

/** Forgets the intent if git refused: then nothing has changed. After any other failure, git tells later. */
async function orDrop<T>(intents: MergeIntents, stageId: StageId, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Rejection) await intents.drop(stageId);
    throw error;
  }
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Rejection) return null;
    throw error;
  }
}

/** Ending the process would end it, and what it was to write would be missing. */
const NOT_DONE = 'Nothing was completed or merged, because work of';

const requireNoWork = async ({ read }: Store, stageId: StageId): Promise<void> =>
  requireNoAwaitedTasks(await read.sessions.find(stageId), NOT_DONE);

async function refusalOf(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof Rejection) return error.message;
    throw error;
  }
}

interface Order {
  stage: Stage;
  project: Project;
  input: CompleteInput;
  actor: string;
}

async function complete(deps: StageCompletionDeps, order: Order): Promise<void> {
  const { stage, input, actor } = order;
  const { stageId, merge = false } = input;
  requireOpen(stage, merge !== false);
  await requirePossible(deps, order);
  await requireEnded(deps, stageId);
  const merged = await bringIn(deps, order);
  await deps.endings.done(stageId, merged, actor);
  if (input.receipt === true && merged !== null) await addReceipt(deps, order, merged);
}

/** Adds the receipt to a merge. The merge is made and stored, so a note that fails is only logged. */
async function addReceipt({ worktrees, receiptOf, log }: StageCompletionDeps, order: Order, merged: Merged) {
  const { stage, project } = order;
  try {
    await worktrees.addNote(project, merged.commit, await receiptOf(stage.id));
  } catch (error) {
    log.warn({ err: error, stageId: stage.id }, 'a receipt was not added to its merge');
  }
}

/** Ends an idle process. Before the merge: a refusal after it would look as if nothing had happened. */
async function requireEnded({ store, endIfIdle }: StageCompletionDeps, stageId: StageId): Promise<void> {
  const session = await store.read.sessions.find(stageId);
  requireNoAwaitedTasks(session, NOT_DONE);
  if (session?.state === 'idle') {
    if (!(await endIfIdle(stageId, 'Ended because its stage was completed.'))) {
      const message = `${stageId} got work at the same moment, so it was not completed. Wait until it is idle, or stop it first.`;
      throw new Rejection('stage_running', message);
    }
  }
  await requireCompletable(store.read, await requireStage(store.read, stageId));
}

function requireOpen({ id, completedAt, merged }: Stage, merges: boolean): void {
  if (completedAt === null) return;
  if (merged !== null) throw new Rejection('already_done', `${id} is already done, and merged into ${merged.into}.`);
  if (!merges) throw new Rejection('already_done', `${id} is already done.`);
}

/** Checks all that can be checked before the process is ended: a refusal would not bring it back. */
async function requirePossible({ store, worktrees }: StageCompletionDeps, order: Order): Promise<void> {
  const { stage, project, input } = order;
  const { stageId, merge = false, commit, head, tree } = input;
  const { worktree } = stage;
  const session = await store.read.sessions.find(stageId);
  requireNoAwaitedTasks(session, NOT_DONE);
  if (worktree === null || (session !== null && isActive(session.state))) return;
  const seen = { ...(head && { head }), ...(tree && { tree }) };
  if (merge !== false)
    await worktrees.requireMergeable(project, worktree, {
      ...seen,
      method: methodOf(merge),
      takesUncommitted: commit !== undefined,
    });
  if (commit !== undefined) await worktrees.requireCommittable(project, worktree, seen);
}

/** Commits and merges what was ordered. @returns what was merged; null if nothing was */
async function bringIn({ worktrees, intents }: StageCompletionDeps, order: Order): Promise<Merged | null> {
  const { stage, project, input, actor } = order;
  const { stageId, merge = false, commit, message, head, tree } = input;
  const { worktree, title } = stage;
  if (worktree === null) return null;
  let seen = { ...(head && { head }), ...(tree && { tree }) };
  if (commit !== undefined) seen = { ...seen, head: await worktrees.commit(project, worktree, { ...commit, ...seen }) };
  if (merge === false) return null;
  const mayBegin = (planned: Merged) => intents.begin(stageId, 'merge', planned, actor);
  const way = { method: methodOf(merge), title, ...(message && { message }) };
  return orDrop(intents, stageId, worktrees.merge(project, worktree, { ...seen, ...way, mayBegin }));
}

const methodOf = (merge: true | MergeMethod): MergeMethod => (merge === true ? 'merge' : merge);

export interface CompletionDeps {
  views: BoardViews;
  completion: StageCompletion;
}

type CompletionCommands = 'get_completion' | 'take_out_placeholders' | 'complete_stage' | 'undo_completion';

export const completionCommands = ({
  views,
  completion,
}: CompletionDeps): Pick<CommandHandlers, CompletionCommands> => ({
  get_completion: async ({ stageId, method }) => ({ completion: await completion.preview(stageId, method) }),
  take_out_placeholders: async ({ stageId }) => ({ files: await completion.takeOutPlaceholders(stageId) }),
  complete_stage: async (input, { actor }) => {
    await completion.complete(input, actor.name);
    return { stage: await views.stage(input.stageId) };
  },
  undo_completion: async ({ stageId }, { actor }) => {
    await completion.undo(stageId, actor.name);
    return { stage: await views.stage(stageId) };
  },
});
