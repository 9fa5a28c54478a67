import type { LaunchId } from '@callboard/contract';
import type { OutboxRow, SessionRecord } from '../store/records.ts';
import type { Tables } from '../store/store.ts';

/**
 * The messages of a launch that has ended of which it is not known whether the conversation has them: those of the turn
 * that ran and of the one before, and those that the CLI did not tell of.
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

/** Which of them were found in the conversation; null: it could not be looked up. */
export type FoundMessages = ReadonlySet<string> | null;

/** Whether the conversation has a message, by what was found in it. Of messages that were joined into one it names the last alone. */
export function isInConversation(
  { wireId }: Pick<OutboxRow, 'wireId'>,
  { joinedMessages }: SessionRecord,
  found: FoundMessages,
): boolean {
  if (found === null) return false;
  return found.has(wireId) || (joinedMessages.includes(wireId) && found.has(joinedMessages.at(-1) ?? wireId));
}
