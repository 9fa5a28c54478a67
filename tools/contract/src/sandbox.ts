import { z } from 'zod';

/** Whether Claude Code's own sandbox works on this machine, as a trial command in it has shown. */
export const SandboxSupport = z.object({
  /** `untried`: the trial has not ended yet. */
  state: z.enum(['untried', 'works', 'fails']),
  /** With `fails`: the cause, in words for a person. */
  why: z.string().nullable(),
  /** With `fails`: how to get it here, in words for a person. */
  how: z.string().nullable(),
});
export type SandboxSupport = z.infer<typeof SandboxSupport>;

export const SANDBOX_UNTRIED: SandboxSupport = { state: 'untried', why: null, how: null };

/** Why what a session runs can, or cannot, reach what answers it. */
export const IsolationReason = z.enum([
  /** `prevented`: every command ran in the sandbox. All others are reasons for `noticed`. */
  'sandboxed',
  'off-for-project',
  'off-for-stage',
  /** The project is older than the sandbox, and nobody has decided for it yet. */
  'undecided',
  /** It does not work on this machine; `detail` has the cause. */
  'unavailable',
  /** A person let a command run outside of it; `detail` names the first one. It stays so for the session. */
  'command-left',
  /** The user's own settings, or the project's sockets, let commands out of it; `detail` names what does. */
  'loosened',
  /** Claude Code was told to use it and did not; `detail` has what it said. */
  'refused-by-claude',
  /** Settings that let commands out of it appeared while the session ran; `detail` names them. */
  'settings-changed',
  /** It was started before Callboard used the sandbox. */
  'not-known',
]);
export type IsolationReason = z.infer<typeof IsolationReason>;

/**
 * What holds for a session when a command that Claude runs tries to answer for a person: it is `prevented`, or only
 * `noticed` afterwards.
 */
export const Isolation = z.object({
  level: z.enum(['prevented', 'noticed']),
  reason: IsolationReason,
  /** What the reason does not say by itself, in words for a person. */
  detail: z.string().nullable(),
});
export type Isolation = z.infer<typeof Isolation>;

/** Of a session that Callboard knows nothing better of. */
export const ISOLATION_UNKNOWN: Isolation = { level: 'noticed', reason: 'not-known', detail: null };

/** What the sandbox kept a command from. */
export const SandboxFailure = z.object({
  /** Claude Code says so. False: what the command printed looks like it. */
  isCertain: z.boolean(),
  /** What was refused, as Claude Code or the command says it. */
  detail: z.string(),
});
export type SandboxFailure = z.infer<typeof SandboxFailure>;

/** A host that commands in the sandbox may reach without asking: a name, or `*.` and a name for all below it. */
export const SandboxHost = z
  .string()
  .trim()
  .max(253)
  .regex(
    /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i,
    'must be a host name such as "packages.example.com", or "*.example.com" for all below it; without scheme, port or path',
  );

/** A Unix socket that commands in the sandbox may connect to. */
export const SandboxSocket = z
  .string()
  .trim()
  .max(1_000)
  .regex(/^\/./, 'must be the absolute path of a Unix socket, such as "/run/postgresql/.s.PGSQL.5432"');
