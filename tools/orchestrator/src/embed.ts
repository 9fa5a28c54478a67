import { randomBytes } from 'node:crypto';
import { OrchestratorConfig } from '@callboard/runtime/supervision';
import { pino } from 'pino';
import { type ComposeOptions, type Orchestrator, startOrchestrator } from './compose.ts';

export type { Orchestrator } from './compose.ts';

export interface EmbedOptions extends Pick<ComposeOptions, 'env'>, Partial<Pick<ComposeOptions, 'log'>> {
  /** Absolute path of the data directory: one Callboard at a time. */
  dataDir: string;
  /** Absolute paths of repositories to register as projects. */
  repos?: readonly string[];
  /** Absolute path of the `claude` to run; without it, the one on the PATH of `env`. */
  claudePath?: string;
  /** How many stages may work at once before automatic starts pause (4). */
  maxParallel?: number;
}

/**
 * Runs an orchestrator in this process, for a program with an interface of its own. Use it through
 * `createInProcessTransport` of `@callboard/contract/client`, and end it with `stop`; sessions outlive it.
 *
 * Its WebSocket server listens on a free loopback port, under a random secret.
 * @throws as `startOrchestrator`
 */
export function embedOrchestrator(options: EmbedOptions): Promise<Orchestrator> {
  const { dataDir, repos = [], claudePath = null, maxParallel = 4 } = options;
  const { log = pino({ level: 'silent' }), env } = options;
  const config = OrchestratorConfig.parse({
    dataDir,
    repos,
    claudePath,
    maxParallel,
    host: '127.0.0.1',
    port: 0,
    secret: randomBytes(32).toString('base64url'),
    agentUser: null,
    diskReserveMb: 200,
    attentionAfterMinutes: 10,
    tokenSha256: null,
    publicUrl: null,
    databaseUrl: null,
    machineName: null,
    machineUrl: null,
    endSessionsAfterMinutes: null,
  });
  return startOrchestrator(config, { log, env });
}
