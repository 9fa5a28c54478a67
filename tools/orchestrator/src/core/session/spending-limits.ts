import { isDeepStrictEqual } from 'node:util';
import {
  type Budget,
  covers,
  formatAmount,
  isPaused,
  type LimitWait,
  type LimitWindow,
  type Pause,
  type PauseScope,
  type ProjectId,
  pauseOver,
  type Spending,
  type SpentBudget,
  type Stage,
  type StageId,
  scopeText,
  spentLimit,
  spentText,
  type TokenUsage,
  type UsageLimits,
} from '@callboard/contract';
import type { BudgetRecord } from '../../store/ports/usage-port.ts';
import type { MessageRow, SessionRecord } from '../../store/records.ts';
import { requireProject, requireStage, type Tables, type Tx } from '../../store/store.ts';
import type { AgentEvent, LimitRefusal, TurnEnd } from '../agent-event.ts';
import { addNotice, type EventContext, type SessionChange } from './session-change.ts';

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

/** What people keep on hold, and how they release it (docs/decisions/limits.md). The newest word counts, whether for one stage, a project or all. */

/** Whether the stage itself, its project or everything is on hold. False for a stage that does not exist. */
export async function isStagePaused(tx: Pick<Tables, 'stages' | 'holds'>, stageId: StageId): Promise<boolean> {
  const stage = await tx.stages.find(stageId);
  return stage !== null && isPaused(stage, await tx.holds.list());
}

/** Puts a stage on hold; does nothing if it is. @throws Rejection `unknown_stage` */
export async function pauseStage(tx: Tx, stageId: StageId, actor: string): Promise<void> {
  const stage = await requireStage(tx, stageId);
  if (!stage.held) await saveStage(tx, { ...stage, held: true, heldBy: { by: actor, at: tx.now } });
}

/** Releases a stage from every hold; does nothing if it is not on hold. @throws Rejection `unknown_stage` */
export async function releaseStage(tx: Tx, stageId: StageId): Promise<void> {
  const stage = await requireStage(tx, stageId);
  if (stage.held) await saveStage(tx, { ...stage, held: false, heldBy: null });
  await exceptFrom(tx, stage, { stageId });
}

async function saveStage(tx: Tx, changed: Stage): Promise<void> {
  const stage = { ...changed, updatedAt: tx.now };
  await tx.stages.update(stage);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage } });
}

/** Leaves what is released out of the holds that keep it. */
async function exceptFrom(
  tx: Tx,
  released: Parameters<typeof pauseOver>[0],
  exception: Pause['except'][number],
): Promise<void> {
  const holding = (await tx.holds.list()).filter((pause) => pauseOver(released, [pause]) !== null);
  for (const pause of holding) await tx.holds.save({ ...pause, except: [...pause.except, exception] });
  if (holding.length > 0) await notifyPauses(tx);
}

/** Puts a project or everything on hold, with what was released from such a hold before. @throws Rejection `unknown_project` */
export async function pauseScope(tx: Tx, scope: PauseScope, actor: string): Promise<void> {
  if ('projectId' in scope) await requireProject(tx, scope.projectId);
  const known = (await tx.holds.list()).find((pause) => isSame(pause.scope, scope));
  if (known !== undefined && known.except.length === 0) return;
  await tx.holds.save({ scope, by: actor, at: tx.now, except: [] });
  await notifyPauses(tx);
}

/** Releases a project or everything. What was put on hold more narrowly stays so. @throws Rejection `unknown_project` */
export async function releaseScope(tx: Tx, scope: PauseScope): Promise<void> {
  if ('projectId' in scope) await requireProject(tx, scope.projectId);
  const hadOne = await removePause(tx, scope);
  if (hadOne) await notifyPauses(tx);
  if (!('projectId' in scope)) return;
  const { projectId } = scope;
  await exceptFrom(tx, { id: '', projectId }, { projectId });
}

/** Removes what holds say of a project or stage that is removed: whatever gets its id later is not released by that. */
export async function forgetPausesOf(tx: Tx, gone: Pause['except'][number]): Promise<void> {
  const hadOne = 'projectId' in gone && (await removePause(tx, gone));
  const excepting = (await tx.holds.list()).filter(({ except }) => except.some((one) => isDeepStrictEqual(one, gone)));
  for (const pause of excepting) {
    await tx.holds.save({ ...pause, except: pause.except.filter((one) => !isDeepStrictEqual(one, gone)) });
  }
  if (hadOne || excepting.length > 0) await notifyPauses(tx);
}

async function removePause(tx: Tx, scope: PauseScope): Promise<boolean> {
  if (!(await tx.holds.list()).some((pause) => isSame(pause.scope, scope))) return false;
  await tx.holds.remove(scope);
  return true;
}

const isSame = (a: PauseScope, b: PauseScope): boolean =>
  'projectId' in a ? 'projectId' in b && a.projectId === b.projectId : !('projectId' in b);

const notifyPauses = async (tx: Tx): Promise<void> =>
  tx.emit({ type: 'holds-updated', data: { holds: await tx.holds.list() } });

/** What a session learns of the account's usage limits, and how it waits at one (docs/decisions/limits.md). */

type Report = Extract<AgentEvent, { type: 'usage-limits' }>;

/** Stores what a process reports. A call that a limit refused is remembered until its turn ends. */
export async function takeLimits({ tx, change }: EventContext, { overall, windows }: Report): Promise<void> {
  if (overall?.status === 'reached') {
    const { window, resetsAt } = overall;
    change.record = { ...change.record, refusedBy: { window, resetsAt } };
  }
  const { limits: before, settings } = await tx.limits.view();
  const reported = merged(before, { overall, windows }, tx.now);
  if (before !== null && JSON.stringify({ ...before, at: '' }) === JSON.stringify({ ...reported, at: '' })) return;
  await tx.limits.saveReported(reported);
  await tx.emit({ type: 'limits-updated', data: { limits: reported, settings } });
}

const UNKNOWN = { status: 'allowed', window: null, resetsAt: null, isUsingOverage: false } as const;

/** A report replaces the windows that it names. Others stay until they have reset. */
function merged(
  before: UsageLimits | null,
  { overall, windows }: Pick<Report, 'overall' | 'windows'>,
  at: string,
): UsageLimits {
  const { status, window, resetsAt, isUsingOverage } = overall ?? before ?? UNKNOWN;
  const isStill = ({ name, resetsAt }: LimitWindow) =>
    !windows.some((reported) => reported.name === name) && (resetsAt === null || resetsAt > at);
  const others = (before?.windows ?? []).filter(isStill);
  const all = [...windows, ...others].toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
  return { status, window, resetsAt, isUsingOverage, windows: all, at };
}

/** A stage that is asked again sooner than this asks in vain: the limit should have reset, and has not. */
const SOON_MS = 60_000;
/** The first wait after that; each further one is twice as long. */
const RETRY_MS = 2 * 60_000;
/** How often a stage asks in vain before a person has to decide. */
const MAX_TRIES = 5;
/** The clocks of the account and of this machine differ a little. */
const MARGIN_MS = 5_000;
/** Stages that wait for the same reset do not all go on in the same second. */
const SPREAD_MS = 25_000;

type Waiting = Pick<SessionRecord, 'limitWait' | 'limitTries' | 'refusedBy'>;

/** How a session goes on from the end of a turn: after a refusal by a usage limit, it waits. */
export async function limitWaitAfter({ tx, change }: EventContext, end: TurnEnd): Promise<Waiting> {
  const { stageId, refusedBy, limitTries } = change.record;
  if (end.code !== 'usage-limit') return { limitWait: null, limitTries: 0, refusedBy: null };
  const { window, resetsAt } = end.limit ?? refusedBy ?? (await knownRefusal(tx));
  const tries = triesAfter(tx, resetsAt, limitTries);
  const wait = { since: tx.now, window, resetsAt, goesOnAt: null };
  const stage = await tx.stages.find(stageId);
  const limitWait = stage !== null && (await resumesAutomatically(tx, stage)) ? plannedWait(tx, wait, tries) : wait;
  return { limitWait, limitTries: tries, refusedBy: null };
}

/** How often in a row somebody met a limit that should have reset by then. */
export function triesAfter({ now }: Pick<Tx, 'now'>, resetsAt: string | null, before: number): number {
  const isSoon = resetsAt !== null && Date.parse(resetsAt) < Date.parse(now) + SOON_MS;
  return isSoon ? before + 1 : 0;
}

/** The limit that is known to be reached, if the process did not say which one refused it. */
export async function knownRefusal(tx: Pick<Tables, 'limits'>): Promise<LimitRefusal> {
  const { limits } = await tx.limits.view();
  return limits?.status === 'reached' ? limits : { window: null, resetsAt: null };
}

/** Whether a stage goes on by itself when a limit resets. */
export async function resumesAutomatically(
  tx: Pick<Tables, 'limits'>,
  { goesOnAtReset }: Pick<Stage, 'goesOnAtReset'>,
): Promise<boolean> {
  return goesOnAtReset ?? (await tx.limits.view()).settings.goesOnAtReset;
}

/** Returns the wait with the instant at which the stage goes on; none without a time of reset, and after too many tries. */
export function plannedWait(tx: Pick<Tx, 'now' | 'newWireId'>, wait: LimitWait, tries: number): LimitWait {
  if (wait.resetsAt === null || tries > MAX_TRIES) return { ...wait, goesOnAt: null };
  const now = Date.parse(tx.now);
  const earliest = tries === 0 ? now : now + RETRY_MS * 2 ** (tries - 1);
  const at = Math.max(Date.parse(wait.resetsAt) + MARGIN_MS, earliest) + chance(tx) * SPREAD_MS;
  return { ...wait, goesOnAt: new Date(at).toISOString() };
}

/** A number from 0 to 1. Ids are the only source of chance that tests replace. */
const chance = ({ newWireId }: Pick<Tx, 'newWireId'>): number => Number.parseInt(newWireId().slice(0, 8), 16) / 2 ** 32;

/** Ends the wait for a usage limit, or for the end of a hold: the stage goes on, or somebody took it in hand. */
export function endWaits(change: SessionChange): void {
  const { limitWait, holdInterrupt } = change.record;
  if (limitWait !== null) change.record = { ...change.record, limitWait: null };
  if (holdInterrupt === 'interrupted') change.record = { ...change.record, holdInterrupt: null };
}
