import { z } from 'zod';

/**
 * What the supervisor and the two servers say to each other over the inherited IPC pipe. Secrets travel here and
 * nowhere else: not in the environment, not on a command line, not in a file.
 */

const Port = z.int().min(0).max(65_535);

export const OrchestratorConfig = z.object({
  /** Absolute. */
  dataDir: z.string(),
  host: z.string(),
  /** 0 takes any free port; `ready` tells which. */
  port: Port,
  /** What a WebSocket upgrade must show as `Authorization: Bearer <secret>`. */
  secret: z.string().min(16),
  /** Absolute path of the `claude` to run; null to look for one. */
  claudePath: z.string().nullable(),
  maxParallel: z.int().positive(),
  agentUser: z.string().nullable(),
  /** Nothing is started or delivered while less than this is free on the disk of the data directory; 0 for no such limit. */
  diskReserveMb: z.int().nonnegative(),
  /** A working session that prints nothing for this long asks for attention. */
  attentionAfterMinutes: z.number().positive(),
  /** Absolute paths of repositories to register as projects at start. */
  repos: z.array(z.string()),
  /** SHA-256, in hex, of an API token that is good for every request; null for none. */
  tokenSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
});
export type OrchestratorConfig = z.infer<typeof OrchestratorConfig>;

export const WebServerConfig = z.object({
  host: z.string(),
  port: Port,
  /** `url`: null while that is not known; `orchestrator-at` tells it. */
  orchestrator: z.object({ url: z.url().nullable(), secret: z.string() }),
});
export type WebServerConfig = z.infer<typeof WebServerConfig>;

/** Supervisor to a server. `configure` is the first message and comes once. */
export const ToServer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('configure'), config: z.unknown() }),
  /** Web server only, after `configure`: where the orchestrator listens. */
  z.object({ type: z.literal('orchestrator-at'), url: z.url() }),
  /** Orchestrator only: make a one-time login code. */
  z.object({ type: z.literal('create-login'), id: z.string() }),
]);
export type ToServer = z.infer<typeof ToServer>;

/** A server to the supervisor. */
export const FromServer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), port: Port }),
  z.object({ type: z.literal('login-created'), id: z.string(), code: z.string() }),
  /** Orchestrator: somebody has logged in with this code (SHA-256, in hex). */
  z.object({ type: z.literal('login-used'), codeSha256: z.string() }),
  /** It could not be made (the store cannot write, say). */
  z.object({ type: z.literal('login-failed'), id: z.string(), message: z.string() }),
  /**
   * It cannot start, said before it exits. `fatal`: trying again will not help (the port is taken, the data directory
   * is in use); a first start gives up with `message`.
   */
  z.object({ type: z.literal('failed'), code: z.string(), message: z.string(), fatal: z.boolean() }),
]);
export type FromServer = z.infer<typeof FromServer>;
