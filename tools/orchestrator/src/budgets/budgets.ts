import {
  type Budget,
  type BudgetBody,
  CONTINUE_MESSAGE,
  type SendMessageReply,
  type StageId,
  scopeText,
  spentText,
} from '@callboard/contract';
import { readBudgets, spentBudgetOf } from '../domain/budgets.ts';
import { changeSession, openChange, saveChange } from '../domain/change-session.ts';
import { releaseStage } from '../domain/holds.ts';
import { addNotice } from '../domain/session-change.ts';
import type { Platform } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';

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
export async function showAgain(tx: Tx): Promise<void> {
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
