import type { AlarmCode, SessionAlarm } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { SessionRecord } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { closeRequest } from './requests.ts';
import { addNotice, type SessionChange } from './session-change.ts';

export interface AlarmContext {
  tx: Tx;
  change: SessionChange;
  /** Called after the commit, to stop the process. */
  onAlarm: () => void;
}

/** The finding; `detail` tells a person what it means and what to do next. */
export type Alarm = Pick<SessionAlarm, 'code' | 'detail'>;

const CLOSED = 'The session has an open security alarm, so nothing is allowed in it.';

/**
 * Puts the session under alarm and stops its process. The first alarm stays until a person acknowledges it; later ones are
 * only reported in the transcript, each code once. Closes open requests, because whoever caused the alarm may have made
 * them.
 */
export async function raiseAlarm({ tx, change, onAlarm }: AlarmContext, { code, detail }: Alarm): Promise<void> {
  const { alarm, stageId, seenAlarms } = change.record;
  tx.afterCommit(onAlarm);
  if (alarm !== null && seenAlarms.includes(code)) return;
  addNotice(change, tx.now, { level: 'error', code, text: detail });
  change.record = { ...change.record, seenAlarms: [...(alarm === null ? [] : seenAlarms), code] };
  if (alarm !== null) return;
  change.record = { ...change.record, alarm: { code, at: tx.now, detail }, limitWait: null, holdInterrupt: null };
  for (const request of await tx.requests.listOpenOf(stageId)) await closeRequest(tx, change, request, CLOSED);
}

/** Lets the session continue. Its queue stays held until a person releases it. @throws Rejection `no_alarm` */
export function acknowledgeAlarm(change: SessionChange, at: string, actor: string): void {
  const { alarm, stageId, queued } = change.record;
  if (alarm === null)
    throw new Rejection('no_alarm', `${stageId} has no open security alarm. Someone may have acknowledged it already.`);
  change.record = { ...change.record, alarm: null, seenAlarms: [], queueHeld: queued > 0, heldSinceAlarm: queued > 0 };
  const text = `${actor} acknowledged the alarm. The session may continue.`;
  addNotice(change, at, { level: 'info', code: 'alarm-acknowledged', text });
}

/** @throws Rejection `session_alarm` */
export function requireNoAlarm(session: Pick<SessionRecord, 'alarm' | 'stageId'> | null): void {
  if (session === null || session.alarm === null) return;
  const message = `${session.stageId} has an open security alarm. ${session.alarm.detail} Acknowledge the alarm to let it continue.`;
  throw new Rejection('session_alarm', message);
}

const STOPPED = 'The session was stopped.';
const NEXT = 'Look at the last steps in the transcript and at the changes before you let it continue.';

const DESCRIPTIONS: Readonly<Record<AlarmCode, string>> = {
  'foreign-answer':
    'A request was answered by something other than Callboard: a command that Claude ran may have approved its own request.',
  'foreign-control':
    'Claude Code received an instruction that Callboard did not send: a command that Claude ran may have changed its settings, its permissions or its tool servers.',
  'foreign-message':
    'Claude received a message that nobody sent: a command that Claude ran may have sent it in your name.',
  'foreign-mode':
    'The permission mode changed, but nobody changed it: a command that Claude ran may have given itself more permissions than you allowed.',
  'forged-output':
    'The output file of Claude Code has lines that Claude Code did not print: a command that Claude ran may have written them.',
  'foreign-rule':
    'A tool ran under a permission rule that nobody added: a command that Claude ran may have written it into a settings file.',
  'foreign-hook':
    'A hook allowed a tool, but neither you nor the project have hooks that may do that: a command that Claude ran may have written it into a settings file.',
  'transcript-mismatch':
    "The transcript shows something that Claude's own record of the conversation does not have: a command that Claude ran may have written it.",
  'foreign-store':
    'Something other than Callboard wrote to its store, where decisions and messages are. A command that this session or one of its stage ran outside of a sandbox may have done it.',
  'used-login':
    'A process that this session or a command of its stage started tried to act as a person, with a login of a terminal, an API token or a login link.',
};

/** Returns the alarm with its description. @param what the details, as a sentence; omitted if the code says everything */
export const alarmOf = (code: AlarmCode, what?: string): Alarm => ({
  code,
  detail: [DESCRIPTIONS[code], what, STOPPED, NEXT].filter((part) => part !== undefined).join(' '),
});
