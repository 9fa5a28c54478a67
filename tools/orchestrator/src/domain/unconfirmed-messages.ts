import type { LaunchId } from '@callboard/contract';
import type { OutboxRow, SessionRecord } from '../store/records.ts';
import type { Tables } from '../store/store.ts';

/**
 * Returns the messages of an ended launch that may be missing in the conversation: those of its last two turns, and
 * those that the CLI did not report as read.
 */
export async function unconfirmedMessages(
  read: Pick<Tables, 'outbox'>,
  { lastTurnMessages, turnMessages }: SessionRecord,
  launchId: LaunchId,
): Promise<OutboxRow[]> {
  const begun = await Promise.all([...lastTurnMessages, ...turnMessages].map((id) => read.outbox.find(id)));
  const unread = await read.outbox.listOf(launchId, ['accepted', 'written']);
  return [...begun.filter((row) => row !== null), ...unread.filter(({ kind }) => kind === 'message')];
}

/** The wire ids that were found in the conversation; null if it could not be read. */
export type FoundMessages = ReadonlySet<string> | null;

/** Whether the conversation has a message. If the CLI joined messages into one, it names only the last of them. */
export function isInConversation(
  { wireId }: Pick<OutboxRow, 'wireId'>,
  { joinedMessages }: SessionRecord,
  found: FoundMessages,
): boolean {
  if (found === null) return false;
  return found.has(wireId) || (joinedMessages.includes(wireId) && found.has(joinedMessages.at(-1) ?? wireId));
}
