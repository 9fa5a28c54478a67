import { truncate } from '../lib/truncate.ts';
import { checkMessages } from './detect-foreign-input.ts';
import type { EventContext } from './event-context.ts';
import { alarmOf, raiseAlarm } from './session-alarm.ts';
import { addNotice } from './session-change.ts';

/** The longest message that is kept in full, in characters: more than one session needs to say to another. */
const MAX_MESSAGE_LENGTH = 20_000;
/** How many messages may wait until the CLI reports their senders. */
const MAX_UNATTRIBUTED = 100;

/**
 * Handles a message that did not come from Callboard. If other sessions may write, the message is kept until the CLI
 * reports its sender, right after it; if a deferred call is due, until the CLI takes it up. Otherwise raises an alarm.
 */
export async function acceptUnattributed(
  context: EventContext,
  messageId: string,
  progress: 'consumed' | 'finished' | 'cancelled',
): Promise<void> {
  const { change, mayPeersWrite, launchId } = context;
  const { deferred } = change.record;
  const mayBeOwn = deferred !== null && deferred.launchId !== launchId;
  if (!mayPeersWrite && !mayBeOwn) return checkMessages(context, [messageId]);
  if (progress !== 'consumed') return; // the sender was reported by then, or `checkUnattributed` raises the alarm
  const strangers = [...new Set([...change.record.strangers, messageId])].slice(-MAX_UNATTRIBUTED);
  change.record = { ...change.record, strangers };
}

/** Shows a message of another session in the transcript, with its sender. Raises an alarm if other sessions may not write. */
export async function peerMessage(
  context: EventContext,
  { messageId, from, text }: { messageId: string; from: string; text: string },
): Promise<void> {
  const { tx, change, mayPeersWrite } = context;
  if (!mayPeersWrite) return checkMessages(context, [messageId]);
  change.record = { ...change.record, strangers: change.record.strangers.filter((id) => id !== messageId) };
  const message = `Another Claude Code session (${from}) wrote to Claude: ${truncate(text, MAX_MESSAGE_LENGTH)}`;
  addNotice(change, tx.now, { level: 'info', code: 'session-message', text: message });
}

/** Raises an alarm if the ended turn had a message that came from neither Callboard nor another session. */
export async function checkUnattributed(context: EventContext): Promise<void> {
  const { change, knowsAll } = context;
  if (change.record.strangers.length === 0) return;
  change.record = { ...change.record, strangers: [] };
  if (knowsAll) await raiseAlarm(context, alarmOf('foreign-message'));
}
