import {
  type Budget,
  type BudgetBody,
  CONTINUE_MESSAGE,
  nearLimit,
  type SendMessageReply,
  type StageId,
  scopeKey,
  scopeText,
  spentText,
} from '@callboard/contract';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { changeSession, openChange, saveChange } from '../../core/session/change-session.ts';
import { addNotice } from '../../core/session/session-change.ts';
import {
  localDay,
  noteInterrupted,
  readBudgets,
  releaseStage,
  spentBudgetOf,
} from '../../core/session/spending-limits.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { SessionRecord } from '../../store/records.ts';
import { onSessionChange, requireProject, requireStage, type Store, type Tx } from '../../store/store.ts';

export interface BudgetsDeps {
  store: Store;
  platform: Pick<Platform, 'now'>;
  /** Starts or resumes the stage beyond its budgets. */
  start: (stageId: StageId, actor: string) => Promise<void>;
  /** Sends a text in the caller's transaction. */
  sendTextIn: (tx: Tx, stageId: StageId, text: string, actor: string) => Promise<SendMessageReply>;
  /** Releases the queue of a session. */
  release: (stageId: StageId, actor: string) => Promise<void>;
  /** A budget was changed: what waited for it may go on. */
  onChange: () => void;
}

/** How much stages may spend. */
export interface Budgets {
  /** Returns all budgets, with what was spent. */
  list(): Promise<Budget[]>;
  /** Sets, changes or removes the budget of a scope. @throws Rejection `unknown_stage`, `unknown_project` */
  put(body: BudgetBody): Promise<void>;
  /**
   * Continues the stage once, where it was: until its next turn has ended, no budget keeps it from its work.
   * @throws Rejection `unknown_stage`, `no_spent_budget`, and as `Sessions.start`
   */
  continueBeyond(stageId: StageId, actor: string): Promise<void>;
}

export function createBudgets(deps: BudgetsDeps): Budgets {
  const { store } = deps;
  return {
    list: () => readBudgets(store.read, deps.platform.now().toISOString()),
    async put({ scope, usd = null, tokens = null }) {
      await store.transact(async (tx) => {
        if ('stageId' in scope) await requireStage(tx, scope.stageId);
        if ('projectId' in scope) await requireProject(tx, scope.projectId);
        if (usd === null && tokens === null) await tx.budgets.remove(scope);
        else await tx.budgets.save({ scope, usd, tokens, warnedFor: null });
        await showAgain(tx);
      });
      deps.onChange();
    },
    continueBeyond: (stageId, actor) => continueBeyond(deps, stageId, actor),
  };
}

/** Brings up to date what sessions say about spent budgets. */
async function showAgain(tx: Tx): Promise<void> {
  for (const { stageId, spentBudget } of await tx.sessions.list()) {
    if (spentBudget === null) continue;
    const budget = await spentBudgetOf(tx, stageId);
    await changeSession(tx, stageId, (change) => {
      change.record = { ...change.record, spentBudget: budget };
    });
  }
}

async function continueBeyond({ store, ...parts }: BudgetsDeps, stageId: StageId, actor: string): Promise<void> {
  const how = await store.transact(async (tx) => {
    await requireStage(tx, stageId);
    const budget = await spentBudgetOf(tx, stageId);
    if (budget === null) {
      const message = `No budget keeps ${stageId} from its work. Start it, or send it a message.`;
      throw new Rejection('no_spent_budget', message);
    }
    await releaseStage(tx, stageId); // a person wants it to go on
    const session = await tx.sessions.find(stageId);
    if (session === null || session.launchId === null) return 'start';
    const change = await openChange(tx, stageId);
    const text = `${actor} allowed the stage to go over the budget ${scopeText(budget.scope)} once (${spentText(budget)}).`;
    addNotice(change, tx.now, { level: 'info', code: 'beyond-budget', text });
    change.record = { ...change.record, beyondBudget: true, spentBudget: null };
    await saveChange(tx, change); // delivers what waits, unless the queue is held
    if (change.delivered.length > 0 || change.record.turnRunning) return 'done';
    if (change.record.queued > 0) return 'release';
    await parts.sendTextIn(tx, stageId, CONTINUE_MESSAGE, actor);
    return 'done';
  });
  if (how === 'start') await parts.start(stageId, actor);
  if (how === 'release') await parts.release(stageId, actor);
}

export interface BudgetWatchDeps {
  store: Pick<Store, 'read' | 'transact' | 'onEvent' | 'onForeignCommit'>;
  platform: Pick<Platform, 'now'>;
  log: Logger;
  /** Interrupts a running turn. */
  interrupt: (stageId: StageId, reason: string) => Promise<void>;
  /** The figures have changed. */
  onFigures: () => void;
  /** A new day has begun: what waited for its budget may go on. */
  onDay: () => void;
}

/** Warns of budgets that are nearly spent, and interrupts turns that go beyond one. */
export interface BudgetWatch {
  /** Requests another look. */
  schedule(): void;
  /** Resolves when no look is under way or due. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

/** How often is looked whether a new day has begun, and again at turns that could not be interrupted. */
const CHECK_INTERVAL_MS = 30_000;

/** Looks at once, whenever a session reports what it has spent, and now and then. What it does is in the store before it happens. */
export function startBudgetWatch(deps: BudgetWatchDeps): BudgetWatch {
  const { store, platform, log } = deps;
  /** Turns that were asked to end, until they have, or until the next look. */
  const interrupting = new Set<StageId>();
  /** How often budgets may have changed, and how often they had when there were none: then nothing is read for each step of each turn. */
  let changes = 0;
  let noneAt = -1;
  let day: string | null = null; // the first look is as one on a new day: Callboard may have been away over midnight

  function interrupt(stageId: StageId): void {
    if (interrupting.has(stageId)) return;
    interrupting.add(stageId);
    deps.interrupt(stageId, 'Its budget is spent.').catch((error: unknown) => {
      if (error instanceof Rejection)
        log.info({ stageId, code: error.code }, 'a turn beyond its budget was not interrupted');
      else log.error({ err: error, stageId }, 'interrupting a turn beyond its budget failed');
    });
  }

  async function pass(): Promise<void> {
    const now = platform.now();
    if (noneAt === changes) return;
    const before = changes;
    if ((await store.read.budgets.list()).length === 0) {
      noneAt = before;
      return;
    }
    if (localDay(now) !== day) {
      day = localDay(now);
      await store.transact(showAgain);
      deps.onDay();
    }
    for (const budget of await readBudgets(store.read, now.toISOString()))
      await warn(deps, budget, periodOf(budget, now));
    for (const session of (await store.read.sessions.list()).filter(mayBeOver)) {
      if (await store.transact((tx) => isOver(tx, session.stageId))) interrupt(session.stageId);
    }
    deps.onFigures();
  }

  const passes = createReconciler(pass, (error) => log.error({ err: error }, 'looking at the budgets failed'), {
    on: (schedule) => [
      // What a session has spent, or lets it spend again.
      onSessionChange(store, ['state', 'costUsd', 'turnUsage', 'tokens'], ({ stageId, state }) => {
        if (state !== 'busy') interrupting.delete(stageId);
        schedule();
      }),
      store.onForeignCommit(() => {
        changes += 1; // another machine may have set one
      }),
      () => clearInterval(timer),
    ],
  });
  const schedule = () => {
    changes += 1;
    passes.schedule();
  };
  const timer = setInterval(() => {
    interrupting.clear();
    schedule();
  }, CHECK_INTERVAL_MS).unref();
  schedule();
  return { schedule, drain: passes.drain, stop: passes.stop };
}

/** Whether Claude is at work in a turn. One that waits for a person spends nothing. */
const mayBeOver = ({ state, turnRunning, beyondBudget }: SessionRecord): boolean =>
  state === 'busy' && turnRunning && !beyondBudget;

/** Records that a spent budget ends the running turn, once. @returns whether it is to be interrupted */
async function isOver(tx: Tx, stageId: StageId): Promise<boolean> {
  const record = await tx.sessions.find(stageId);
  if (record === null || !mayBeOver(record)) return false;
  const budget = await spentBudgetOf(tx, stageId);
  if (budget === null) return false;
  if (record.spentBudget !== null) return true; // Callboard ended before it was interrupted
  const change = await openChange(tx, stageId);
  noteInterrupted(change, tx.now, budget);
  change.record = { ...change.record, spentBudget: budget };
  await saveChange(tx, change);
  return true;
}

/** A day's budget begins anew with each day. */
const periodOf = ({ scope }: Budget, now: Date): string => ('day' in scope ? localDay(now) : 'all');

/** Warns once for each period: in the transcript of a stage that has a budget. The board and the cards read the figures themselves. */
async function warn({ store }: BudgetWatchDeps, budget: Budget, period: string): Promise<void> {
  const { scope } = budget;
  const near = nearLimit(budget);
  if (near === null) return;
  await store.transact(async (tx) => {
    const record = (await tx.budgets.list()).find((one) => scopeKey(one.scope) === scopeKey(scope));
    if (record === undefined || record.warnedFor === period) return;
    await tx.budgets.save({ ...record, warnedFor: period });
    if (!('stageId' in scope) || (await tx.sessions.find(scope.stageId)) === null || near.spent >= near.limit) return;
    const text = `The budget ${scopeText(scope)} is nearly spent: ${spentText(near)}. When it is spent, Callboard interrupts the turn.`;
    await changeSession(tx, scope.stageId, (change) =>
      addNotice(change, tx.now, { level: 'warning', code: 'budget-near', text }),
    );
  });
}

export interface BudgetDeps {
  budgets: Budgets;
  views: BoardViews;
}

type BudgetCommands = 'get_budgets' | 'put_budget' | 'continue_beyond_budget';

export const budgetCommands = ({ budgets, views }: BudgetDeps): Pick<CommandHandlers, BudgetCommands> => ({
  get_budgets: async () => ({ budgets: await budgets.list() }),
  put_budget: async (body) => {
    await budgets.put(body);
    return { budgets: await budgets.list() };
  },
  continue_beyond_budget: async ({ stageId }, { actor }) => {
    await budgets.continueBeyond(stageId, actor.name);
    return { session: await views.session(stageId) };
  },
});
