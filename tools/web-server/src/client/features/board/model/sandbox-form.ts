import { type ProjectSettings, SandboxHost, SandboxSocket } from '@callboard/contract';

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
