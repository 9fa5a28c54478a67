import { z } from 'zod';

/** Whether Claude Code's sandbox works on this machine, according to a trial command. */
export const SandboxSupport = z.object({
  /** `untried`: the trial has not finished yet. */
  state: z.enum(['untried', 'works', 'fails']),
  /** With `fails`: the cause, for people. */
  why: z.string().nullable(),
  /** With `fails`: how to make it work, for people. */
  how: z.string().nullable(),
});
export type SandboxSupport = z.infer<typeof SandboxSupport>;

export const SANDBOX_UNTRIED: SandboxSupport = { state: 'untried', why: null, how: null };

/** Why a session's commands can, or cannot, tamper with its answers. */
export const IsolationReason = z.enum([
  /** The only reason for `prevented`: every command ran in the sandbox. All others lead to `noticed`. */
  'sandboxed',
  'off-for-project',
  'off-for-stage',
  /** The project is older than the sandbox, and nobody has decided yet. */
  'undecided',
  /** It does not work on this machine; `detail` has the cause. */
  'unavailable',
  /** A person let a command run outside it; `detail` names the first one. This lasts for the whole session. */
  'command-left',
  /** The user's settings, or the project's sockets, let commands out of it; `detail` names them. */
  'loosened',
  /** Claude Code was told to use it and did not; `detail` has what it said. */
  'refused-by-claude',
  /** Settings that let commands out of it were added while the session ran; `detail` names them. */
  'settings-changed',
  /** The session was started before Callboard used the sandbox. */
  'not-known',
]);
export type IsolationReason = z.infer<typeof IsolationReason>;

/**
 * How well a session is protected from commands that try to answer in place of a person: it is `prevented`, or only
 * `noticed` afterwards.
 */
export const Isolation = z.object({
  level: z.enum(['prevented', 'noticed']),
  reason: IsolationReason,
  /** Details of the reason, for people. */
  detail: z.string().nullable(),
});
export type Isolation = z.infer<typeof Isolation>;

/** The isolation of a session whose details are unknown. */
export const ISOLATION_UNKNOWN: Isolation = { level: 'noticed', reason: 'not-known', detail: null };

/** Something that the sandbox blocked. */
export const SandboxFailure = z.object({
  /** True if Claude Code reported it, false if it was guessed from the command's output. */
  isCertain: z.boolean(),
  /** What was blocked, in the words of Claude Code or the command. */
  detail: z.string(),
});
export type SandboxFailure = z.infer<typeof SandboxFailure>;

/** A host that commands in the sandbox may reach without asking: a name, or `*.` and a name for all its subdomains. */
export const SandboxHost = z
  .string()
  .trim()
  .max(253)
  .regex(
    /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i,
    'must be a host name such as "packages.example.com", or "*.example.com" for all its subdomains; without scheme, port or path',
  );

/** A Unix socket that commands in the sandbox may connect to. */
export const SandboxSocket = z
  .string()
  .trim()
  .max(1_000)
  .regex(/^\/./, 'must be the absolute path of a Unix socket, such as "/run/postgresql/.s.PGSQL.5432"');

/** A host name that needs no quoting anywhere: letters, digits, hyphens, underscores and single dots. */
const NAME = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
const IPV6 = /^(?=.*:.*:)[0-9a-f:]+(?::\d{1,3}(?:\.\d{1,3}){3})?$/;
const MAX_LENGTH = 253;

/** A location that a person should know before they let a command connect. */
export type HostLocation = 'this-machine' | 'metadata' | 'local-network';

/** The addresses at which clouds hand out the credentials of a machine. */
const METADATA = new Set(['169.254.169.254', 'metadata.google.internal', 'fd00:ec2::254', '100.100.100.200']);
const THIS_MACHINE = /^(?:localhost|.*\.localhost|127(?:\.\d+){1,3}|0(?:\.0){0,3}|::1?|::ffff:127\..*)$/;
const LOCAL_ADDRESS =
  /^(?:10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}|169\.254(?:\.\d+){2}|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)$/;
const LOCAL_NAME = /^(?:[^.:]+|.*\.(?:local|lan|internal|home\.arpa))$/;

/** Returns where a host is, judged by its name; null for any other host. */
export function hostLocation(host: string): HostLocation | null {
  const name = host
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1');
  if (METADATA.has(name)) return 'metadata';
  if (THIS_MACHINE.test(name)) return 'this-machine';
  return LOCAL_ADDRESS.test(name) || LOCAL_NAME.test(name) ? 'local-network' : null;
}

/**
 * Returns the rule that lets exactly this host through the sandbox. Null for hosts that are never remembered: a name that
 * may stand for several hosts (a wildcard, a port, a character with a meaning in rules), this machine itself, and the
 * addresses at which clouds hand out credentials.
 */
export function hostRule(host: string): string | null {
  const name = host.toLowerCase().replace(/\.$/, '');
  const place = hostLocation(name);
  if (name.length > MAX_LENGTH || place === 'this-machine' || place === 'metadata') return null;
  if (NAME.test(name)) return name;
  const address = name.replace(/^\[(.*)\]$/, '$1');
  return IPV6.test(address) ? `[${address}]` : null;
}
