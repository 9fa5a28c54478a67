import {
  type Budget,
  covers,
  formatAmount,
  type ProjectId,
  type Spending,
  type SpentBudget,
  type StageId,
  scopeText,
  spentLimit,
  spentText,
} from '@callboard/contract';
import type { BudgetRecord } from '../store/ports/budget-tables.ts';
import type { MessageRow, SessionRecord } from '../store/records.ts';
import type { Tables, Tx } from '../store/store.ts';
import { addNotice, type SessionChange } from './session-change.ts';
import { countedTokens, localDay } from './spending.ts';

/** How much stages may spend, and what keeps them from more (docs/decisions/limits.md). */

/** Returns the budgets with what was spent, running turns included. @param now an instant of the day that `{day: true}` means */
export async function readBudgets(tables: Tables, now: string): Promise<Budget[]> {
  const records = await tables.budgets.list();
  if (records.length === 0) return [];
  const running = await runningTurns(tables);
  return Promise.all(records.map((record) => withSpent(tables, record, { now, running })));
}

interface RunningTurn {
  stageId: StageId;
  projectId: ProjectId;
  spent: Spending;
}

async function withSpent(
  tables: Tables,
  { scope, usd, tokens }: BudgetRecord,
  { now, running }: { now: string; running: readonly RunningTurn[] },
): Promise<Budget> {
  const spent = await tables.spending.sum(scope, localDay(now));
  for (const turn of running.filter((one) => covers(scope, one))) {
    spent.usd += turn.spent.usd;
    spent.tokens += turn.spent.tokens;
  }
  return { scope, usd, tokens, spent: { usd: Number(spent.usd.toFixed(9)), tokens: spent.tokens } };
}

/** What running turns have spent so far, as last reported; it is not in the ledger yet. */
async function runningTurns(tables: Tables): Promise<RunningTurn[]> {
  const running = (await tables.sessions.list()).filter(({ turnUsage }) => turnUsage !== null);
  const turns = await Promise.all(running.map((record) => turnOf(tables, record)));
  return turns.filter((turn) => turn !== null);
}

async function turnOf(tables: Tables, { stageId, turnUsage }: SessionRecord): Promise<RunningTurn | null> {
  const stage = await tables.stages.find(stageId);
  if (stage === null || turnUsage === null) return null;
  const spent = { usd: turnUsage.costUsd, tokens: countedTokens(turnUsage.tokens) };
  return { stageId, projectId: stage.projectId, spent };
}

/** Returns the spent budget that covers the stage; null if none does. */
export async function spentBudgetOf(tx: Tx, stageId: StageId): Promise<SpentBudget | null> {
  const records = await tx.budgets.list();
  if (records.length === 0) return null;
  const stage = await tx.stages.find(stageId);
  if (stage === null) return null;
  const of = { stageId, projectId: stage.projectId };
  const running = await runningTurns(tx);
  for (const record of records.filter(({ scope }) => covers(scope, of))) {
    const spent = spentLimit(await withSpent(tx, record, { now: tx.now, running }));
    if (spent !== null) return spent;
  }
  return null;
}

/** As `spentBudgetOf`, unless a person continued beyond it: the budget that keeps the session from further work. */
export async function budgetBefore(
  tx: Tx,
  { stageId, beyondBudget }: Pick<SessionRecord, 'stageId' | 'beyondBudget'>,
): Promise<SpentBudget | null> {
  return beyondBudget ? null : spentBudgetOf(tx, stageId);
}

/** Lets a message wait for a larger budget: it goes on by itself then (`resumeDeferred`). */
export async function pauseTurn(tx: Tx, change: SessionChange, row: MessageRow, budget: SpentBudget): Promise<void> {
  if (!row.body.awaitsRoom) {
    await tx.outbox.setBody(row.id, { ...row.body, awaitsRoom: true });
    change.queueChanged = true;
  }
  change.record = { ...change.record, spentBudget: budget };
}

/** Says in the transcript that a spent budget ends the turn. */
export function noteInterrupted(change: SessionChange, at: string, budget: SpentBudget): void {
  const over = budget.spent - budget.limit;
  const by = over > 0 ? `, ${formatAmount(budget.unit, over)} over` : '';
  const text = `Budget spent: ${spentText(budget)}${by}. It is the budget ${scopeText(budget.scope)}, so Callboard interrupts the turn. Raise the budget, or continue once.`;
  addNotice(change, at, { level: 'warning', code: 'budget-spent', text });
}

/** Why a start is refused. */
export const budgetRefusal = (stageId: StageId, budget: SpentBudget): string =>
  `The budget ${scopeText(budget.scope)} is spent: ${spentText(budget)}. Raise it, or continue ${stageId} once beyond it.`;
