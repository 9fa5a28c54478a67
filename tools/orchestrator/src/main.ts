/** The process edge of the orchestrator: the supervisor's pipe, signals and the exit code. */
import { type FromServer, OrchestratorConfig, ToServer } from '@callboard/contract';
import { pino } from 'pino';
import { z } from 'zod';
import { type Orchestrator, startOrchestrator } from './compose.ts';
import { AppError, messageOf } from './lib/errors.ts';

/** How long letting go may take; sessions lose nothing if it is cut short. */
const GRACE_MS = 5_000;

/** Causes that trying again does not mend. */
const FATAL = new Set([
  'data_dir_in_use',
  'data_dir_unwritable',
  'storage_failed',
  'database_newer',
  'database_damaged',
  'port_in_use',
  'agent_user_unsupported',
  'not_a_repository',
  'no_commits',
]);

const level = process.env.CALLBOARD_LOG_LEVEL ?? '';
const known = level === 'silent' || Object.hasOwn(pino.levels.values, level);
const log = pino({ name: 'orchestrator', level: known ? level : 'warn' }, pino.destination({ fd: 2, sync: true }));

let starting: Promise<Orchestrator> | undefined;
let exiting = false;

function exit(code: number): void {
  if (exiting) return;
  exiting = true;
  setTimeout(() => process.exit(code), GRACE_MS).unref();
  const stopped = starting?.then((orchestrator) => orchestrator.stop()).catch(() => undefined);
  void Promise.resolve(stopped).finally(() => process.exit(code));
}

/** Resolves once the supervisor has it, or is gone. */
function tell(message: FromServer): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, {}, () => resolve());
  });
}

async function configure(raw: unknown): Promise<void> {
  const config = OrchestratorConfig.safeParse(raw);
  if (!config.success) return giveUp('bad_config', z.prettifyError(config.error), true);
  try {
    const onCodeUsed = (codeSha256: string) => void tell({ type: 'login-used', codeSha256 });
    starting = startOrchestrator(config.data, { log, env: process.env, onCodeUsed });
    const { port } = await starting;
    await tell({ type: 'ready', port });
  } catch (error) {
    // A known cause is told in words by the supervisor; only a bug needs its stack in the log.
    if (!(error instanceof AppError)) log.error({ err: error }, 'the orchestrator cannot start');
    const code = error instanceof AppError ? error.code : 'internal';
    await giveUp(code, messageOf(error), FATAL.has(code));
  }
}

async function giveUp(code: string, message: string, fatal: boolean): Promise<void> {
  await tell({ type: 'failed', code, message, fatal });
  exit(1);
}

async function createLogin(id: string): Promise<void> {
  try {
    const code = await (await starting)?.createLoginCode();
    if (code !== undefined) await tell({ type: 'login-created', id, code });
  } catch (error) {
    log.error({ err: error }, 'no login link could be made');
    await tell({ type: 'login-failed', id, message: messageOf(error) });
  }
}

process.on('message', (raw) => {
  const { data: message } = ToServer.safeParse(raw);
  if (message?.type === 'configure' && starting === undefined) void configure(message.config);
  if (message?.type === 'create-login') void createLogin(message.id);
});
process.on('disconnect', () => exit(0));
process.on('SIGTERM', () => exit(0));
process.on('SIGINT', () => exit(0));

if (process.send === undefined) {
  process.stderr.write('The orchestrator is run by Callboard itself: use npm start.\n');
  process.exit(1);
}
