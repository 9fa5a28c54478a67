import { type Project, type ProjectPatch, type ProjectSettings, SandboxHost, SandboxSocket } from '@callboard/contract';

/** The values of the project settings form, as typed. */
export interface ProjectForm {
  name: string;
  /** How long a request may wait; empty for no limit. */
  minutes: string;
  /** One pattern per line. */
  copy: string;
  submodules: boolean;
  spareWorktree: boolean;
  /** The command that opens a worktree; empty for the first editor on PATH. */
  editor: string;
  /** Whether messages from other sessions reach this project's. */
  sessionMessages: boolean;
  /** The machine that its stages must run on, by name or id; empty for any. */
  machine: string;
  /** After how many minutes a silent machine is declared lost; empty for never. */
  lostAfter: string;
  sandbox: SandboxForm;
}

const MINUTE = 60_000;

export const projectFormOf = ({ name, settings }: Project): ProjectForm => ({
  name,
  minutes: settings.requestTimeoutMs === null ? '' : String(settings.requestTimeoutMs / MINUTE),
  copy: settings.copyIgnored.join('\n'),
  submodules: settings.submodules,
  spareWorktree: settings.spareWorktree,
  editor: settings.editor ?? '',
  sessionMessages: settings.sessionMessages,
  machine: settings.machine ?? '',
  lostAfter: settings.declareLostAfterMs === null ? '' : String(settings.declareLostAfterMs / MINUTE),
  sandbox: sandboxFormOf(settings),
});

export function readProjectForm({
  name,
  minutes,
  copy,
  submodules,
  spareWorktree,
  editor,
  sessionMessages,
  machine,
  lostAfter,
  sandbox,
}: ProjectForm): ProjectPatch {
  const lines = copy.split('\n').map((line) => line.trim());
  return {
    name: name.trim(),
    settings: {
      requestTimeoutMs: readMinutes(minutes),
      copyIgnored: lines.filter((line) => line !== ''),
      submodules,
      spareWorktree,
      editor: editor.trim() === '' ? null : editor.trim(),
      sessionMessages,
      machine: machine === '' ? null : machine,
      declareLostAfterMs: readMinutes(lostAfter),
      ...readSandboxForm(sandbox),
    },
  };
}

/** What is wrong with a time limit as typed; null if nothing is. */
export const minutesProblem = (minutes: string): string | null =>
  minutes.trim() === '' || /^[1-9]\d*$/.test(minutes.trim())
    ? null
    : 'Write a whole number of minutes, or leave it empty.';

/** @param minutes as typed @returns milliseconds; null for nothing, and for what is no time */
const readMinutes = (minutes: string): number | null =>
  minutes.trim() === '' || !(Number(minutes) > 0) ? null : Math.round(Number(minutes) * MINUTE);

/** The sandbox fields of the project settings form, as typed. */
export interface SandboxForm {
  /** Null if nobody has decided yet. */
  sandbox: boolean | null;
  autoAllow: boolean;
  /** One per line. */
  hosts: string;
  sockets: string;
}

/** The values for a new project. */
export const newSandboxForm: SandboxForm = { sandbox: true, autoAllow: false, hosts: '', sockets: '' };

type Settings = Pick<ProjectSettings, 'sandbox' | 'sandboxAutoAllow' | 'sandboxHosts' | 'sandboxSockets'>;

export const sandboxFormOf = (settings: Settings): SandboxForm => ({
  sandbox: settings.sandbox,
  autoAllow: settings.sandboxAutoAllow,
  hosts: settings.sandboxHosts.join('\n'),
  sockets: settings.sandboxSockets.join('\n'),
});

/** The settings to send. An undecided sandbox stays undecided. */
export const readSandboxForm = ({ sandbox, autoAllow, hosts, sockets }: SandboxForm) => ({
  ...(sandbox === null ? {} : { sandbox }),
  sandboxAutoAllow: autoAllow,
  sandboxHosts: linesOf(hosts),
  sandboxSockets: linesOf(sockets),
});

/** What is wrong with each field, in words; null if nothing is. */
export const sandboxProblems = ({ hosts, sockets }: SandboxForm) => ({
  hosts: problemOf(hosts, SandboxHost),
  sockets: problemOf(sockets, SandboxSocket),
});

function problemOf(text: string, schema: typeof SandboxHost): string | null {
  for (const line of linesOf(text)) {
    const { error } = schema.safeParse(line);
    if (error !== undefined) return `"${line}" ${error.issues[0]?.message ?? 'cannot be used'}.`;
  }
  return null;
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
