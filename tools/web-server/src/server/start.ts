import { join } from 'node:path';
import { readCertificate } from '@callboard/runtime/certificate';
import { createLifecycle } from '@callboard/runtime/lifecycle';
import type { Exposure } from '@callboard/runtime/supervision';
import type { FastifyBaseLogger } from 'fastify';
import packageJson from '../../package.json' with { type: 'json' };
import { type AppSettings, buildApp, listeningPort } from './app.ts';
import { createEventHub } from './events/event-hub.ts';
import { createOrchestratorClient } from './orchestrator/client.ts';
import { withOwnWarning } from './reach/own-warnings.ts';
import { watchCertificate } from './reach/watch-certificate.ts';

/** Where the web server listens, and its orchestrator, which may still be starting. */
export interface WebServerLocation {
  host: string;
  port: number;
  exposure: Exposure;
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
export interface WebServerSettings extends Omit<AppSettings, 'host' | 'port' | 'exposure'> {
  /** Of the event streams. */
  heartbeatMs: number;
  loginCheckMs: number;
  maxUnreadBytes: number;
  /** Of the connection to the orchestrator. */
  pingMs: number;
  maxBackoffMs: number;
  /** How often the files of the certificate are read. */
  certificateMs: number;
  /** Called with what a person in front of the terminal should know. */
  onNotice: (text: string) => void;
}

const defaults: WebServerSettings = {
  version: packageJson.version,
  clientDir: join(import.meta.dirname, '../../dist/client'),
  requestsPerSecond: 100,
  streamsPerLogin: 50,
  maxHalfOpen: 500,
  headersTimeoutMs: 20_000,
  heartbeatMs: 2_000, // a client notices within two of them that its connection is dead
  loginCheckMs: 15_000,
  maxUnreadBytes: 4 * 1024 * 1024,
  pingMs: 15_000, // finds a process that hangs, not one that is slow; the end of a process is noticed at once
  maxBackoffMs: 1_000,
  certificateMs: 10_000,
  onNotice: () => undefined,
};

/**
 * Starts the web server. Resolves once it listens, whether or not the orchestrator can be reached yet. On failure it stops
 * everything already started and rejects with the system's error (`EADDRINUSE`, for example), or with CertificateError.
 */
export async function startWebServer(
  config: WebServerLocation,
  log: FastifyBaseLogger,
  overrides: Partial<WebServerSettings> = {},
): Promise<WebServer> {
  const { heartbeatMs, loginCheckMs, maxUnreadBytes, pingMs, maxBackoffMs, certificateMs, onNotice, ...settings } = {
    ...defaults,
    ...overrides,
  };
  const { host, port, orchestrator, exposure } = config;
  const life = createLifecycle(log);
  try {
    const certificate = exposure.tls && (await readCertificate(exposure.tls));
    const inner = createOrchestratorClient({ ...orchestrator, log, heartbeatMs: pingMs, maxBackoffMs });
    life.onStop('orchestrator client', () => inner.close());
    const { client, warn } = withOwnWarning(inner);
    const hub = createEventHub({ client, log, heartbeatMs, loginCheckMs, maxUnreadBytes });
    life.onStop('event hub', () => hub.close());
    const { app, setCertificate } = await buildApp({
      client,
      hub,
      log,
      certificate,
      settings: { ...settings, host, port, exposure },
    });
    life.onStop('http', () => app.close());
    await app.listen({ host, port });
    if (exposure.tls !== null && certificate !== null) {
      const onError = (text: string | null) => {
        warn(text);
        onNotice(text ?? 'The certificate can be used again.');
      };
      const parts = { files: exposure.tls, loaded: certificate, checkMs: certificateMs, onError };
      life.onStop('certificate', watchCertificate({ ...parts, onChange: setCertificate }));
    }
    return { port: listeningPort(app) ?? port, whenReached: client.whenReady, stop: life.stop };
  } catch (error) {
    await life.stop();
    throw error;
  }
}
