/** The process edge of the web server: the supervisor's pipe, signals and the exit code. */
import { type FromServer, ToServer, WebServerConfig } from '@callboard/contract';
import { pino } from 'pino';
import { z } from 'zod';
import { createLog } from './log.ts';
import { startWebServer } from './start.ts';
import { failed, startFailure } from './start-failure.ts';

/** How long open requests may take to end. */
const GRACE_MS = 5_000;

/** How long it is waited for before we call ourselves ready; it is up when we are started. */
const ORCHESTRATOR_MS = 10_000;

const level = process.env.CALLBOARD_LOG_LEVEL ?? '';
const known = level === 'silent' || Object.hasOwn(pino.levels.values, level);
const log = createLog({ level: known ? level : 'warn' }, pino.destination({ fd: 2, sync: true }));

let stop: () => Promise<void> = async () => undefined;
let configured = false;
const orchestratorAt = Promise.withResolvers<string>();
let exiting = false;

function exit(code: number): void {
  if (exiting) return;
  exiting = true;
  setTimeout(() => process.exit(code), GRACE_MS).unref();
  void stop().finally(() => process.exit(code));
}

/** Resolves once the supervisor has it, or is gone. */
function tell(message: FromServer): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, {}, () => resolve());
  });
}

async function configure(raw: unknown): Promise<void> {
  const config = WebServerConfig.safeParse(raw);
  if (!config.success) return giveUp(failed('bad_config', z.prettifyError(config.error), true));
  try {
    const { url, secret } = config.data.orchestrator;
    const orchestrator = { url: url === null ? orchestratorAt.promise : Promise.resolve(url), secret };
    const server = await startWebServer({ ...config.data, orchestrator }, log);
    stop = server.stop;
    if (exiting) return void stop().finally(() => process.exit());
    if (url === null) await orchestratorAt.promise;
    // Whoever is told that all is up may use it at once. An orchestrator that takes longer is waited for by those who ask.
    await server.whenReached(AbortSignal.timeout(ORCHESTRATOR_MS)).catch(() => undefined);
    await tell({ type: 'ready', port: server.port });
  } catch (error) {
    const failure = startFailure(error, config.data);
    // A known cause is told in words by the supervisor; only what is not known needs its stack in the log.
    if (failure.type === 'failed' && !failure.fatal) log.error({ err: error }, 'the web server cannot start');
    await giveUp(failure);
  }
}

async function giveUp(message: FromServer): Promise<void> {
  await tell(message);
  exit(1);
}

process.on('message', (raw) => {
  const message = ToServer.safeParse(raw);
  if (!message.success) return;
  if (message.data.type === 'orchestrator-at') orchestratorAt.resolve(message.data.url);
  if (message.data.type !== 'configure' || configured) return;
  configured = true;
  void configure(message.data.config);
});
process.on('disconnect', () => exit(0));
process.on('SIGTERM', () => exit(0));
process.on('SIGINT', () => exit(0));

if (process.send === undefined) {
  process.stderr.write('The web server is run by Callboard itself: use npm start.\n');
  process.exit(1);
}
