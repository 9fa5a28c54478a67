/** What is being typed that could be completed: a command, or the path of a file from `from` to `to` in the text. */
export type Completing = { kind: 'command'; typed: string } | { kind: 'file'; typed: string; from: number; to: number };

/** What stands at the caret; null where there is nothing to complete. */
export function completingAt(text: string, caret: number): Completing | null {
  const command = /^\/([^\s/]*)$/.exec(text);
  if (command !== null) return { kind: 'command', typed: command[1] ?? '' };
  // An @ at the beginning of a word, with the path behind it: in quotes, or without a blank.
  const file = /(?:^|\s)@(?:"([^"\n]*)|([^\s"]*))$/.exec(text.slice(0, caret));
  if (file === null) return null;
  const typed = file[1] ?? file[2] ?? '';
  const from = caret - typed.length - (file[1] === undefined ? 1 : 2);
  return { kind: 'file', typed, from, to: endOfWord(text, caret) };
}

/** The rest of the word that the caret stands in is replaced as well. */
function endOfWord(text: string, caret: number): number {
  const rest = /^[^\s"]*"?/.exec(text.slice(caret));
  return caret + (rest?.[0].length ?? 0);
}

/** A path as Claude Code reads it out of a message: one with a blank goes in quotes. */
export const mention = (path: string): string => (/\s/.test(path) ? `@"${path}"` : `@${path}`);

/** The text with the file named in the place of what was typed, and where the caret goes: behind one blank. */
export function withMention(
  text: string,
  { from, to }: { from: number; to: number },
  path: string,
): { text: string; caret: number } {
  const before = `${text.slice(0, from)}${mention(path)} `;
  return { text: before + text.slice(to).replace(/^ /, ''), caret: before.length };
}
