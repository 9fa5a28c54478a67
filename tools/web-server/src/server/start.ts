import { join } from 'node:path';
import { createLifecycle } from '@callboard/runtime/lifecycle';
import type { FastifyBaseLogger } from 'fastify';
import packageJson from '../../package.json' with { type: 'json' };
import { type AppSettings, buildApp, listeningPort } from './app.ts';
import { createEventHub } from './events/event-hub.ts';
import { createOrchestratorClient } from './orchestrator/client.ts';

/** Where the web server listens, and its orchestrator, which may still be starting. */
export interface WebServerPlace {
  host: string;
  port: number;
  orchestrator: { url: string | Promise<string>; secret: string };
}

export interface WebServer {
  /** The actual port. */
  port: number;
  /** Resolves when commands can be sent to the orchestrator. Rejects when the signal aborts. */
  whenReached: (signal: AbortSignal) => Promise<void>;
  /** Closes the event streams, then the requests, then the connection to the orchestrator. Never rejects. */
  stop: () => Promise<void>;
}

/** Settings that tests change. */
export interface WebServerSettings extends Omit<AppSettings, 'host' | 'port'> {
  /** Of the event streams. */
  heartbeatMs: number;
  maxUnreadBytes: number;
  /** Of the connection to the orchestrator. */
  pingMs: number;
  maxBackoffMs: number;
}

const defaults: WebServerSettings = {
  version: packageJson.version,
  clientDir: join(import.meta.dirname, '../../dist/client'),
  requestsPerSecond: 100,
  streamsPerLogin: 50,
  maxHalfOpen: 500,
  headersTimeoutMs: 20_000,
  heartbeatMs: 15_000,
  maxUnreadBytes: 4 * 1024 * 1024,
  pingMs: 15_000, // finds a process that hangs, not one that is slow; the end of a process is noticed at once
  maxBackoffMs: 1_000,
};

/**
 * Starts the web server. Resolves once it listens, whether or not the orchestrator can be reached yet. On failure it stops
 * everything already started and rejects with the system's error (`EADDRINUSE`, for example).
 */
export async function startWebServer(
  config: WebServerPlace,
  log: FastifyBaseLogger,
  overrides: Partial<WebServerSettings> = {},
): Promise<WebServer> {
  const { heartbeatMs, maxUnreadBytes, pingMs, maxBackoffMs, ...settings } = { ...defaults, ...overrides };
  const { host, port, orchestrator } = config;
  const life = createLifecycle(log);
  try {
    const client = createOrchestratorClient({ ...orchestrator, log, heartbeatMs: pingMs, maxBackoffMs });
    life.onStop('orchestrator client', () => client.close());
    const hub = createEventHub({ client, log, heartbeatMs, maxUnreadBytes });
    life.onStop('event hub', () => hub.close());
    const app = await buildApp({ client, hub, log, settings: { ...settings, host, port } });
    life.onStop('http', () => app.close());
    await app.listen({ host, port });
    return { port: listeningPort(app) ?? port, whenReached: client.whenReady, stop: life.stop };
  } catch (error) {
    await life.stop();
    throw error;
  }
}
