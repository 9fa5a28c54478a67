import type { SlashCommand } from '@callboard/contract';

/** Typed text that can be completed: a command, or a file path from `from` to `to`. */
export type Completion = { kind: 'command'; typed: string } | { kind: 'file'; typed: string; from: number; to: number };

/** The completable text at the caret; null if there is none. */
export function completionAt(text: string, caret: number): Completion | null {
  const command = /^\/([^\s/]*)$/.exec(text);
  if (command !== null) return { kind: 'command', typed: command[1] ?? '' };
  // An @ at the start of a word, followed by the path: in quotes, or without a space.
  const file = /(?:^|\s)@(?:"([^"\n]*)|([^\s"]*))$/.exec(text.slice(0, caret));
  if (file === null) return null;
  const typed = file[1] ?? file[2] ?? '';
  const from = caret - typed.length - (file[1] === undefined ? 1 : 2);
  return { kind: 'file', typed, from, to: endOfWord(text, caret) };
}

/** The end of the word at the caret: its rest is replaced too. */
function endOfWord(text: string, caret: number): number {
  const rest = /^[^\s"]*"?/.exec(text.slice(caret));
  return caret + (rest?.[0].length ?? 0);
}

/** A path as Claude Code finds it in a message: one with a space is quoted. */
export const mention = (path: string): string => (/\s/.test(path) ? `@"${path}"` : `@${path}`);

/** Replaces the typed text by the file's path, and returns the new place of the caret, after one space. */
export function withMention(
  text: string,
  { from, to }: { from: number; to: number },
  path: string,
): { text: string; caret: number } {
  const before = `${text.slice(0, from)}${mention(path)} `;
  return { text: before + text.slice(to).replace(/^ /, ''), caret: before.length };
}

/** A completion for the typed text. */
export interface Suggestion {
  /** What is inserted: the command's name, or the path. */
  value: string;
  shown: string;
  /** The arguments that may follow. */
  hint: string;
  /** What it does. */
  does: string;
}

/** What fits the typed text. */
export interface Suggestions {
  found: readonly Suggestion[];
  /** Why there are no suggestions, or what the list contains. */
  note: string | null;
}

const builtIn = (name: string, description: string): SlashCommand => ({
  name,
  description,
  argumentHint: '',
  aliases: [],
  isBuiltIn: true,
});

/** The commands offered before the first start, until Claude Code reports its own. */
export const COMMANDS_BEFORE_START: readonly SlashCommand[] = [
  builtIn('compact', 'Go on from a summary of the conversation'),
  builtIn('clear', 'Forget the conversation and begin afresh'),
  builtIn('context', 'Show what fills the context'),
  builtIn('usage', 'Show what the session has cost, and how much of the plan is used'),
  builtIn('init', 'Write a CLAUDE.md for the repository'),
];

/** Whether the text may be a command: it begins with a slash and a word. */
export const mayBeCommand = (text: string): boolean => /^\/[a-z]/i.test(text);

/** The commands that match the text after the slash: by name first, then by alias, then by a part of either. */
export function matchingCommands(commands: readonly SlashCommand[], typed: string): SlashCommand[] {
  const wanted = typed.toLowerCase();
  const rankOf = ({ name, aliases }: SlashCommand) => {
    if (name.toLowerCase().startsWith(wanted)) return 0;
    const others = aliases.map((alias) => alias.toLowerCase());
    if (others.some((alias) => alias.startsWith(wanted))) return 1;
    return [name.toLowerCase(), ...others].some((one) => one.includes(wanted)) ? 2 : 3;
  };
  const ranked = commands.map((command) => ({ command, rank: rankOf(command) })).filter(({ rank }) => rank < 3);
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ command }) => command);
}
