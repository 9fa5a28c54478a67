import type { Isolation, IsolationReason, SandboxSupport } from '@callboard/contract';

/** How a session's isolation is described. */
export interface IsolationText {
  /** One or two words, beside the icon. */
  label: string;
  /** The reason, in a sentence. */
  why: string;
  /** What happens when a command tries to answer for a person. */
  means: string;
  /** What to do about it; null if there is nothing to do. */
  next: string | null;
}

const REASONS: Record<IsolationReason, { why: string; next: string | null; label?: string }> = {
  sandboxed: { why: 'Claude’s commands run in a sandbox.', next: null },
  'off-for-project': { why: 'The sandbox is off for this project.', next: 'Turn it on in the project’s settings.' },
  'off-for-stage': { why: 'The sandbox is off for this stage.', next: 'Turn it on in the stage’s details.' },
  undecided: {
    why: 'This project is older than the sandbox, and nobody has turned it on.',
    next: 'Turn it on in the project’s settings.',
  },
  unavailable: {
    why: 'The sandbox does not work on this machine.',
    next: 'The project’s settings say what is missing.',
  },
  'command-left': {
    why: 'A command was allowed to run outside the sandbox.',
    next: 'It stays so for this session.',
    label: 'Left the sandbox',
  },
  loosened: { why: 'Settings let commands out of the sandbox.', next: 'Remove them, and start the session again.' },
  'refused-by-claude': {
    why: 'Claude Code did not use the sandbox.',
    next: 'Run callboard doctor, then start the session again.',
  },
  'settings-changed': {
    why: 'Settings that let commands out of the sandbox appeared while the session ran.',
    next: 'Look at the settings, then start the session again.',
  },
  'not-known': {
    why: 'This session was started before Callboard used the sandbox.',
    next: 'Its next start uses the sandbox if the project does.',
  },
};

const MEANS: Record<Isolation['level'], string> = {
  prevented: 'Commands cannot approve their own requests.',
  noticed: 'If a command approves its own request, Callboard notices and stops the session.',
};

/** A session's isolation in words: its state, the reason, and what to do. */
export function isolationText({ level, reason, detail }: Isolation): IsolationText {
  const { why, next, label = level === 'prevented' ? 'Sandboxed' : 'Not sandboxed' } = REASONS[reason];
  return { label, why: detail === null ? why : `${why} ${detail}`, means: MEANS[level], next };
}

/** "12 commands ran without asking"; empty if none did. */
export const ranWithoutAsking = (count: number): string =>
  count === 0 ? '' : `${count.toLocaleString()} ${count === 1 ? 'command' : 'commands'} ran without asking`;

/** Why the sandbox does not work here, and how to get it as text and commands to copy; null if it may work. */
export function supportText({ state, why, how }: SandboxSupport): { why: string; how: CommandPart[] } | null {
  if (state !== 'fails') return null;
  const parts = commandDeps(how ?? '').map(({ text, isCommand }) => ({ text: text.trim(), isCommand }));
  return { why: why ?? 'A trial command in it failed.', how: parts.filter(({ text }) => /\w/.test(text)) };
}

/** A stage's own sandbox switch as the value of a field; empty follows the project. */
export const sandboxValue = (sandbox: boolean | null): string => (sandbox === null ? '' : sandbox ? 'on' : 'off');

/** The switch that such a value stands for. */
export const sandboxOf = (value: string): boolean | null => (value === '' ? null : value === 'on');

/** The choices for a stage, given whether its project has the sandbox on, off or undecided. */
export const sandboxOptions = (ofProject: boolean | null) => [
  { value: '', label: `As the project: ${ofProject === true ? 'on' : 'off'}` },
  { value: 'on', label: 'On' },
  { value: 'off', label: 'Off' },
];

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
