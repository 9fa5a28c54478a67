/** The web server's own parts, wired as in start.ts, with a fake orchestrator. */
import { join } from 'node:path';
import { createLifecycle } from '@callboard/runtime/lifecycle';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { WAIT_MS } from '../../../test-support/until.ts';
import { type AppSettings, buildApp, createLog } from '../src/server/app.ts';
import { createEventHub, type EventHubDeps } from '../src/server/events/event-hub.ts';
import { createOrchestratorClient } from '../src/server/orchestrator/client.ts';
import { createFakeOrchestrator, GOOD_TOKEN, SECRET } from './fake-orchestrator.ts';

export interface HarnessOptions
  extends Partial<AppSettings>,
    Partial<Pick<EventHubDeps, 'heartbeatMs' | 'loginCheckMs' | 'maxUnreadBytes'>> {
  now?: () => number;
  /** The default is `error`. */
  logLevel?: string;
  /** False: the orchestrator does not run. */
  orchestrated?: boolean;
  /** Prepares the orchestrator before anything connects. */
  prepare?: (orchestrator: ReturnType<typeof createFakeOrchestrator>) => void;
}

const ERROR = pino.levels.values.error ?? 50;

/** A logger that keeps its entries; errors separately, so that a test fails on an unexpected one. */
export function createTestLog(level = 'error') {
  const errors: string[] = [];
  const logged: string[] = [];
  const write = (line: string) => {
    logged.push(line);
    if (JSON.parse(line).level >= ERROR) errors.push(line);
  };
  return { errors, logged, log: createLog({ level }, { write }) };
}

export const bearer = { authorization: `Bearer ${GOOD_TOKEN}` };

export async function startHarness(options: HarnessOptions = {}) {
  const {
    now,
    logLevel,
    orchestrated = true,
    prepare,
    heartbeatMs = 60_000,
    loginCheckMs = 60_000,
    maxUnreadBytes = 4 * 1024 * 1024,
    ...settings
  } = options;
  const { errors, logged, log } = createTestLog(logLevel);
  const life = createLifecycle(log);
  const emptyDir = await temporaryFolder((end) => life.onStop('folder', end));
  const orchestrator = createFakeOrchestrator();
  prepare?.(orchestrator);
  if (orchestrated) await orchestrator.start();
  life.onStop('orchestrator', orchestrator.kill);

  const url = orchestrated ? orchestrator.url() : 'ws://127.0.0.1:9';
  const client = createOrchestratorClient({ url, secret: SECRET, log, maxBackoffMs: 50 });
  life.onStop('client', client.close);
  const hub = createEventHub({ client, log, heartbeatMs, loginCheckMs, maxUnreadBytes });
  life.onStop('hub', hub.close);
  const { app }: { app: FastifyInstance } = await buildApp({
    client,
    hub,
    log,
    certificate: null,
    ...(now === undefined ? {} : { now }),
    settings: {
      host: '127.0.0.1',
      exposure: { publicUrl: null, proxies: [], tls: null },
      port: 80, // inject sends this in its Host header
      version: '0.1.0',
      clientDir: join(emptyDir, 'not-built'),
      requestsPerSecond: 10_000,
      streamsPerLogin: 1_000,
      maxHalfOpen: 10_000,
      headersTimeoutMs: 60_000,
      ...settings,
    },
  });
  life.onStop('app', () => app.close());
  if (orchestrated) await client.whenReady(AbortSignal.timeout(WAIT_MS));

  return {
    orchestrator,
    client,
    hub,
    app,
    dir: emptyDir,
    /** Errors that were logged; a test that expects some empties it. */
    errors,
    logged,
    /** Starts to listen; resolves with the address. */
    listen: () => app.listen({ host: '127.0.0.1', port: 0 }),
    async stop(): Promise<void> {
      await life.stop();
      if (errors.length > 0) throw new Error(`unexpected errors in the log:\n${errors.join('')}`);
    },
  };
}

export type Harness = Awaited<ReturnType<typeof startHarness>>;
