import { truncate } from '../text/truncate.ts';
import { checkMessages } from './detect-foreign-input.ts';
import type { EventContext } from './event-context.ts';
import { alarmOf, raiseAlarm } from './session-alarm.ts';
import { addEntry } from './session-change.ts';

/** More than a session has to say to another. */
const LONGEST_MESSAGE = 20_000;
/** Messages that came together and whose senders were not told yet. */
const MOST_STRANGERS = 100;

/**
 * The process has taken a message that nobody here sent. Where other sessions may write, who did is told right behind it; until then nothing
 * is known of it. Elsewhere it is an alarm.
 */
export async function takeStranger(
  context: EventContext,
  messageId: string,
  progress: 'consumed' | 'finished' | 'cancelled',
): Promise<void> {
  const { change, mayPeersWrite } = context;
  if (!mayPeersWrite) return checkMessages(context, [messageId]);
  if (progress !== 'consumed') return; // it has told of its sender by then, or is missed below
  const strangers = [...new Set([...change.record.strangers, messageId])].slice(-MOST_STRANGERS);
  change.record = { ...change.record, strangers };
}

/** Another session has sent a message: it stands in the transcript with its sender, and is nobody's here. An alarm where none is wanted. */
export async function peerMessage(
  context: EventContext,
  { messageId, from, text }: { messageId: string; from: string; text: string },
): Promise<void> {
  const { tx, change, mayPeersWrite } = context;
  if (!mayPeersWrite) return checkMessages(context, [messageId]);
  change.record = { ...change.record, strangers: change.record.strangers.filter((id) => id !== messageId) };
  const words = `Another Claude Code session (${from}) wrote to Claude: ${truncate(text, LONGEST_MESSAGE)}`;
  addEntry(change, tx.now, {
    kind: 'notice',
    parentToolUseId: null,
    level: 'info',
    code: 'session-message',
    text: words,
  });
}

/** A turn is over: a message in it that nobody here sent, and no other session, was slipped in. */
export async function checkStrangers(context: EventContext): Promise<void> {
  const { change, knowsAll } = context;
  if (change.record.strangers.length === 0) return;
  change.record = { ...change.record, strangers: [] };
  if (knowsAll) await raiseAlarm(context, alarmOf('foreign-message'));
}
