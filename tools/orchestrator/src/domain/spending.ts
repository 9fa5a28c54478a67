import type { Spending, StageId, TokenUsage } from '@callboard/contract';
import type { TurnEnd } from '../agent/agent-event.ts';
import type { SessionRecord } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import type { SessionChange } from './session-change.ts';

/** The ledger: what stages spend goes into it once, whatever becomes of their processes and conversations (docs/decisions/limits.md). */

/** The tokens that the ledger counts: reads from the cache are not among them. */
export const countedTokens = ({ input, output, cacheCreation }: TokenUsage): number => input + output + cacheCreation;

/** The day of an instant where this server is, as `2026-01-31`. */
export function localDay(instant: string | Date): string {
  const date = new Date(instant);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Removes rounding errors of floating-point sums; no price is that small. */
const rounded = (costUsd: number) => Number(costUsd.toFixed(9));

/** How much a running total has grown; a total that is smaller than before has begun again at 0. */
const grown = (total: number, before: number) => (total < before ? total : total - before);

/** What a turn cost: the CLI reports the running total of its conversation. Null if it reports none. */
export function costOfTurn(record: SessionRecord, { costUsd }: Pick<TurnEnd, 'costUsd'>): number | null {
  if (costUsd === null) return null;
  return rounded(grown(costUsd, record.costCounted ?? record.costUsd));
}

/** As `costOfTurn`, of the tokens that the ledger counts. */
export function tokensOfTurn(record: SessionRecord, { tokens }: Pick<TurnEnd, 'tokens'>): number {
  if (tokens === null) return 0;
  const before = record.tokensCounted ?? (record.tokens === null ? 0 : countedTokens(record.tokens));
  return grown(countedTokens(tokens), before);
}

/** Adds to the cost of the session and to what its stage has spent today, together. */
export async function spend(tx: Tx, change: SessionChange, spent: Spending): Promise<void> {
  if (spent.usd === 0 && spent.tokens === 0) return;
  const { stageId, costUsd } = change.record;
  change.record = { ...change.record, costUsd: rounded(costUsd + spent.usd) };
  const stage = await tx.stages.find(stageId);
  if (stage === null) throw missing(stageId);
  await tx.spending.add({ day: localDay(tx.now), stageId, projectId: stage.projectId, ...spent });
}

/** A stage is removed with its session. */
const missing = (stageId: StageId) => new Error(`${stageId} has a session and no stage`);

/**
 * Counts a turn whose process ended before it could report the whole: as far as it was last reported. The next process is asked for
 * its own start, so this is never counted again.
 */
export async function spendUnfinished(tx: Tx, change: SessionChange): Promise<void> {
  const { turnUsage } = change.record;
  if (turnUsage === null) return;
  await spend(tx, change, { usd: turnUsage.costUsd, tokens: countedTokens(turnUsage.tokens) });
}
