import type { SlashCommand } from '@callboard/contract';

const builtIn = (name: string, description: string): SlashCommand => ({
  name,
  description,
  argumentHint: '',
  aliases: [],
  isBuiltIn: true,
});

/** What to offer until Claude Code has said by itself what it has: before anything was started here. */
export const COMMANDS_BEFORE_START: readonly SlashCommand[] = [
  builtIn('compact', 'Go on from a summary of the conversation'),
  builtIn('clear', 'Forget the conversation and begin afresh'),
  builtIn('context', 'Show what fills the context'),
  builtIn('usage', 'Show what the session has cost, and how much of the plan is used'),
  builtIn('init', 'Write a CLAUDE.md for the repository'),
];

/** Whether the text could be meant as a command: it begins with a slash and a word. */
export const mayBeCommand = (text: string): boolean => /^\/[a-z]/i.test(text);

/** The commands that what was typed behind the slash may become: those that begin with it, then those that hold it. */
export function fittingCommands(commands: readonly SlashCommand[], typed: string): SlashCommand[] {
  const wanted = typed.toLowerCase();
  const names = ({ name, aliases }: SlashCommand) => [name, ...aliases].map((one) => one.toLowerCase());
  const begin = commands.filter((command) => names(command).some((name) => name.startsWith(wanted)));
  const hold = commands.filter((command) => !begin.includes(command) && names(command).some((n) => n.includes(wanted)));
  return [...begin, ...hold];
}
