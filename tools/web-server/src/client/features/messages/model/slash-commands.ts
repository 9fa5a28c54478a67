/** A command of Claude Code's that is of use in a session without a terminal. */
interface SlashCommand {
  name: string;
  does: string;
}

const COMMANDS: readonly SlashCommand[] = [
  { name: '/compact', does: 'Go on from a summary of the conversation' },
  { name: '/clear', does: 'Forget the conversation and begin afresh' },
  { name: '/context', does: 'Show what fills the context' },
  { name: '/cost', does: 'Show what the session has cost' },
  { name: '/usage', does: 'Show how much of the plan is used' },
  { name: '/init', does: 'Write a CLAUDE.md for the repository' },
  { name: '/review', does: 'Review a pull request' },
  { name: '/security-review', does: 'Look for security problems in the change' },
  { name: '/pr-comments', does: 'Fetch the comments of a pull request' },
];

/** Whether the text could be meant as a command: it begins with a slash and a word. */
export const mayBeCommand = (text: string): boolean => /^\/[a-z]/i.test(text);

/** The commands that begin with what was typed; none once the word is complete and something follows. */
export function completions(text: string): readonly SlashCommand[] {
  if (!/^\/[\w-]*$/.test(text)) return [];
  return COMMANDS.filter((command) => command.name.startsWith(text.toLowerCase()));
}
