import type { LimitWait, LimitWindow, Stage, UsageLimits } from '@callboard/contract';
import type { AgentEvent, LimitRefusal, TurnEnd } from '../agent/agent-event.ts';
import type { SessionRecord } from '../store/records.ts';
import type { Tables, Tx } from '../store/store.ts';
import type { EventContext } from './event-context.ts';
import type { SessionChange } from './session-change.ts';

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
