import type { WakeUp } from '@callboard/contract';
import { ownProperty } from '../lib/own-property.ts';
import { truncate } from '../lib/truncate.ts';
import type { SessionRecord } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import type { EventContext } from './event-context.ts';
import { addNotice, type SessionChange } from './session-change.ts';

/**
 * Claude Code keeps a wake-up in its process, or in `.claude/scheduled_tasks.json` of the worktree, and begins the turn with a message
 * of its own, whose id it tells together with `wakeup_source` (2.1.330).
 */

/** There is one at most: the next `ScheduleWakeup` replaces it. */
const LOOP = 'loop';
/** How long after its time a wake-up may still come: Claude Code spreads them, and waits for the end of a turn. */
const LATE_MS = 120_000;
/** How many of the newest transcript entries are searched for the call. */
const LOOKBACK = 50;
const MAX_TEXT = 200;
const MAX_SAVED = 50;

/** Returns the wake-ups that are still to come. */
export const wakeUpsToCome = ({ wakeUps }: Pick<SessionRecord, 'wakeUps'>, now: string): readonly WakeUp[] =>
  wakeUps.filter(({ at }) => at === null || Date.parse(at) + LATE_MS > Date.parse(now));

/** Whether Claude ended its turn to go on at a certain time: what it works at is not finished. One that repeats is a watch. */
export const resumesLater = (record: Pick<SessionRecord, 'wakeUps'>, now: string): boolean =>
  wakeUpsToCome(record, now).some(({ at }) => at !== null);

/** Stores what a call planned or cancelled, by its result. Call it before the call is forgotten. */
export async function takeWakeUpPlan(
  context: EventContext,
  { toolUseId, isError, text }: { toolUseId: string; isError: boolean; text: string },
): Promise<void> {
  const { tx, change } = context;
  const toolName = ownProperty(change.record.calls, toolUseId)?.toolName ?? '';
  if (isError || !['ScheduleWakeup', 'CronCreate', 'CronDelete'].includes(toolName)) return;
  const input = await inputOf(context, toolUseId);
  const message = (...keys: string[]) => {
    const found = keys.map((key) => input[key]).find((value) => typeof value === 'string' && value !== '');
    return truncate(String(found ?? ''), MAX_TEXT);
  };
  const save = (id: string, more: readonly WakeUp[]) => {
    const others = change.record.wakeUps.filter((one) => one.id !== id);
    change.record = { ...change.record, wakeUps: [...others, ...more].slice(-MAX_SAVED) };
  };
  if (toolName === 'CronDelete') return save(message('id'), []);
  if (toolName === 'ScheduleWakeup') {
    const seconds = /\(in (\d+)s\)/.exec(text)?.[1];
    if (seconds === undefined) return;
    const at = new Date(Date.parse(tx.now) + Number(seconds) * 1_000).toISOString();
    return save(LOOP, [{ id: LOOP, what: message('reason', 'prompt'), at, isDurable: false }]);
  }
  const id = /\b(?:job|task) ([0-9a-z]+)/.exec(text)?.[1];
  const isDurable = text.includes('Persisted to');
  if (id === undefined || !(isDurable || text.includes('Session-only'))) return;
  const at = text.startsWith('Scheduled recurring') ? null : nextRun(text, tx.now);
  save(id, [{ id, what: message('prompt'), at, isDurable }]);
}

async function inputOf({ tx, change }: EventContext, toolUseId: string): Promise<Record<string, unknown>> {
  const { stageId } = change.record;
  const stored = await tx.transcript.page(stageId, { after: undefined, before: undefined, limit: LOOKBACK });
  const call = [...stored, ...change.entries].findLast(
    (entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId,
  );
  return call?.kind === 'tool-use' ? call.input : {};
}

/** Reads "Next run: Nov 28 7:52am", which is in the time zone of this machine; null if it is not there. */
function nextRun(text: string, now: string): string | null {
  const [, day, hours, minutes, half] = /Next run: (\w+ \d+) (\d+):(\d+)(am|pm)/.exec(text) ?? [];
  if (day === undefined) return null;
  const at = new Date(`${day} ${new Date(now).getFullYear()}`);
  at.setHours((Number(hours) % 12) + (half === 'pm' ? 12 : 0), Number(minutes));
  if (Number.isNaN(at.getTime())) return null;
  if (at.getTime() + LATE_MS < Date.parse(now)) at.setFullYear(at.getFullYear() + 1);
  return at.toISOString();
}

/**
 * Claude Code begins a turn by itself. If Claude had planned that, the transcript says so, and the message is nobody else's.
 * @returns whether Claude had planned it
 */
export function wokeUp({ tx, change }: EventContext, messageId: string, source: string): boolean {
  const { wakeUps, wakeUpMessages } = change.record;
  const isLoop = source === 'loop_wakeup';
  const candidates = wakeUps.filter(({ id }) => (id === LOOP) === isLoop);
  if (candidates.length === 0) return false;
  const isOver = (one: WakeUp) => candidates.includes(one) && one.at !== null && (isLoop || one.at <= tx.now);
  change.record = {
    ...change.record,
    wakeUps: wakeUps.filter((one) => !isOver(one)),
    wakeUpMessages: [...wakeUpMessages, messageId].slice(-MAX_SAVED),
  };
  const due = candidates.length === 1 ? candidates : candidates.filter(isOver);
  const what = due.length === 1 && due[0]?.what ? `: ${due[0].what}` : '';
  addNotice(change, tx.now, { level: 'info', code: 'woke-up', text: `Claude woke up as it had planned${what}` });
  return true;
}

/** Says what Claude will not come back to, because its process has ended. */
export function loseWakeUps(change: SessionChange, now: Tx['now']): void {
  const lost = wakeUpsToCome(change.record, now).filter(({ isDurable }) => !isDurable);
  if (lost.length === 0) return;
  const named = lost.map(({ what, at }) => `"${what}" (${at === null ? 'again and again' : `at ${at}`})`);
  const text = `Claude had planned to wake up by itself for ${named.join(', ')}. Claude Code keeps that in its process only, so it will not happen. Send a message when Claude should look again.`;
  addNotice(change, now, { level: 'warning', code: 'wake-ups-lost', text });
}
