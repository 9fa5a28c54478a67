/** Quotes a path or a word as one argument of a POSIX shell, if that is necessary. */
export const shellQuote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Returns what continues a conversation in a terminal. @param folder the worktree: Claude Code finds a conversation only from there */
export const resumeCommand = (folder: string, conversationId: string): string =>
  `cd ${shellQuote(folder)} && claude --resume ${shellQuote(conversationId)}`;
