import type { LaunchId } from '@callboard/contract';
import type { OutboxRow, SessionRecord } from '../store/records.ts';
import type { Tables } from '../store/store.ts';

/**
 * The messages of a launch that has ended of which it is not known whether the conversation has them: those of the turn
 * that ran, and those that the CLI did not tell of.
 */
export async function messagesInDoubt(
  read: Pick<Tables, 'outbox'>,
  { turnMessages }: SessionRecord,
  launchId: LaunchId,
): Promise<OutboxRow[]> {
  const begun = await Promise.all(turnMessages.map((id) => read.outbox.find(id)));
  const unread = await read.outbox.listOf(launchId, ['accepted', 'written']);
  return [...begun.filter((row) => row !== null), ...unread.filter(({ kind }) => kind === 'message')];
}

/** Whether the conversation has a message, by what was found in it. Of messages that were joined into one it names the last alone. */
export function isInConversation(
  { wireId }: Pick<OutboxRow, 'wireId'>,
  { joinedMessages }: SessionRecord,
  found: ReadonlySet<string>,
): boolean {
  return found.has(wireId) || (joinedMessages.includes(wireId) && found.has(joinedMessages.at(-1) ?? wireId));
}
