import { type ProjectSettings, SandboxHost, SandboxSocket } from '@callboard/contract';

/** What a project's settings of the sandbox hold, as they were typed. */
export interface SandboxForm {
  /** Null: nobody has decided yet. */
  sandbox: boolean | null;
  autoAllow: boolean;
  /** One a line. */
  hosts: string;
  sockets: string;
}

/** As a new project has them. */
export const newSandboxForm: SandboxForm = { sandbox: true, autoAllow: false, hosts: '', sockets: '' };

type Settings = Pick<ProjectSettings, 'sandbox' | 'sandboxAutoAllow' | 'sandboxHosts' | 'sandboxSockets'>;

export const sandboxFormOf = (settings: Settings): SandboxForm => ({
  sandbox: settings.sandbox,
  autoAllow: settings.sandboxAutoAllow,
  hosts: settings.sandboxHosts.join('\n'),
  sockets: settings.sandboxSockets.join('\n'),
});

/** The settings as they are sent; one that nobody has decided stays undecided. */
export const readSandboxForm = ({ sandbox, autoAllow, hosts, sockets }: SandboxForm) => ({
  ...(sandbox === null ? {} : { sandbox }),
  sandboxAutoAllow: autoAllow,
  sandboxHosts: linesOf(hosts),
  sandboxSockets: linesOf(sockets),
});

/** What is wrong with what was typed, in words; null where nothing is. */
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
