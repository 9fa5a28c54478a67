export interface CommandPart {
  text: string;
  /** It stood between backticks: something to run in a terminal. */
  isCommand: boolean;
}

/** The text of a message with the commands that it names between backticks, in order. */
export const commandDeps = (text: string): CommandPart[] =>
  text
    .split('`')
    .map((text, index) => ({ text, isCommand: index % 2 === 1 }))
    .filter(({ text }) => text !== '');

/** A warning about this machine with its next step: the command that it names, or the one that looks for the cause. */
export const withCheck = (warning: string): string =>
  commandIn(warning) === null ? `${warning} Run \`npx callboard doctor\` to check this machine.` : warning;

/** The first command that a message names; null if it names none. */
export const commandIn = (text: string): string | null =>
  commandDeps(text).find(({ isCommand }) => isCommand)?.text ?? null;
