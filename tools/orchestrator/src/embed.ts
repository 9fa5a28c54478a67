import { randomBytes } from 'node:crypto';
import type { BoardEvent, StageId, TextDelta } from '@callboard/contract';
import { OrchestratorConfig } from '@callboard/runtime/supervision';
import { pino } from 'pino';
import { startOrchestrator } from './compose.ts';

// Written out: these are the types of the published package, and none of them may need another package.

export interface EmbedOptions {
  /** Absolute path of the data directory: one Callboard at a time. */
  dataDir: string;
  /** Callboard's environment; children get the user's part of it. */
  env: Readonly<Record<string, string | undefined>>;
  /** Absolute paths of repositories to register as projects. */
  repos?: readonly string[];
  /** Absolute path of the `claude` to run; without it, the one on the PATH of `env`. */
  claudePath?: string;
  /** How many stages may work at once before automatic starts pause (4). */
  maxParallel?: number;
  /** Receives each line of the log, as JSON. Without it, nothing is logged. */
  onLog?: (line: string) => void;
}

/** An orchestrator in this process. Pass its first three members to `createInProcessTransport`. */
export interface EmbeddedOrchestrator {
  execute(frame: string, watch: (stageIds: readonly StageId[]) => void): Promise<unknown>;
  /** Adds a listener for stored events; returns a function that removes it. */
  onEvent(listener: (event: BoardEvent) => void): () => void;
  /** Adds a listener for the text that Claude writes in watched stages; returns a function that removes it. */
  onTextDelta(listener: (delta: TextDelta) => void): () => void;
  /** Stops everything in reverse order; the processes of sessions live on. */
  stop(): Promise<void>;
}

/**
 * Runs an orchestrator in this process, for a program with an interface of its own. Use it through
 * `createInProcessTransport` of the client library, and end it with `stop`; sessions outlive it.
 *
 * Its WebSocket server listens on a free loopback port, under a random secret.
 * @throws as `startOrchestrator`
 */
export async function embedOrchestrator(options: EmbedOptions): Promise<EmbeddedOrchestrator> {
  const { dataDir, env, repos = [], claudePath = null, maxParallel = 4, onLog } = options;
  const log =
    onLog === undefined ? pino({ level: 'silent' }) : pino({}, { write: (text: string) => onLog(text.trimEnd()) });
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
  const { execute, onEvent, onTextDelta, stop } = await startOrchestrator(config, { log, env });
  return { execute, onEvent, onTextDelta, stop };
}
