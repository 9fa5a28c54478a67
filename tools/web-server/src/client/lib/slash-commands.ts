import type { SlashCommand } from '@callboard/contract';

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
