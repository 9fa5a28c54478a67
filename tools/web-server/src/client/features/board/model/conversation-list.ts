import type { Conversation, ConversationFolder } from '@callboard/contract';

const MAX_LENGTH = 80;

/** What a conversation is called: its name, or the beginning of its first line. */
export function conversationTitle({ name, firstWords }: Pick<Conversation, 'name' | 'firstWords'>): string {
  const [line = ''] = (name ?? firstWords).trim().split('\n');
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH - 3).trimEnd()}...`;
}

/** The conversations in which each word occurs. */
export function findConversations(all: readonly Conversation[], text: string): readonly Conversation[] {
  const message = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return all.filter(({ name, firstWords, folder, branch }) => {
    const where = [name, firstWords, folder, branch].join('\n').toLowerCase();
    return message.every((word) => where.includes(word));
  });
}

/** The checkout in which a conversation was held, as it is now: the innermost one. */
export function folderOf({ folder }: Conversation, folders: readonly ConversationFolder[]): ConversationFolder | null {
  const around = folders.filter((one) => folder === one.folder || folder.startsWith(`${one.folder}/`));
  return around.toSorted((a, b) => b.folder.length - a.folder.length)[0] ?? null;
}
