import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FromServer, type OrchestratorConfig } from '@callboard/runtime/supervision';
import { pino } from 'pino';
import { COMPILE_CACHE } from '../../../../test-support/compile-cache.ts';
import { waitFor } from '../../../../test-support/until.ts';
import { isFresh } from '../../../cli/bin/sources.js';
import type { TimeLimits } from '../../src/compose/context.ts';
import { startOrchestrator } from '../../src/compose.ts';
import { nodePlatform, type Platform } from '../../src/platform/runtime.ts';

/** The process starts from its sources and loads all of them, on a busy machine at the same time as others. */
const START_MS = 60_000;

export interface RunningOrchestrator {
  readonly port: number;
  stop(): Promise<void>;
  endIdle(): Promise<void>;
  kill(): Promise<void>;
}

const loadSharedStores = async () => (await import('../../../store-postgres/src/add-on.ts')).postgres;

/** Runs an orchestrator in the test's own process. */
export async function startHere(
  config: OrchestratorConfig,
  env: Record<string, string>,
  limits: Partial<TimeLimits>,
  platform: Platform = nodePlatform,
): Promise<RunningOrchestrator> {
  const level = process.env.CALLBOARD_LOG_LEVEL;
  const errors: string[] = [];
  const log =
    level === undefined ? pino({ level: 'error' }, { write: (line) => void errors.push(line) }) : pino({ level });
  const { port, stop, endIdle } = await startOrchestrator(config, { log, env, limits, platform, loadSharedStores });
  const lastSeen = () => errors.slice(-3).join('');
  return {
    port,
    stop: () => waitFor('the end of the orchestrator', stop(), { withinMs: START_MS, lastSeen }),
    endIdle,
    kill: () => Promise.reject(new Error('it runs in the process of the test')),
  };
}

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

/** What to run: the bundle, which starts in half the time, unless the sources have changed since it was built. */
function program(): { main: string; execArgv: string[] } {
  return isFresh(ROOT)
    ? { main: join(ROOT, 'tools/orchestrator/dist/main.js'), execArgv: ['--disable-sigusr1'] }
    : { main: join(ROOT, 'tools/cli/src/orchestrator.ts'), execArgv: ['--disable-sigusr1', '--import', COMPILE_CACHE] };
}

let toRun: ReturnType<typeof program> | undefined;

/** Runs an orchestrator in its own process, as the supervisor does. */
export async function startApart(
  config: OrchestratorConfig,
  env: Record<string, string>,
): Promise<RunningOrchestrator> {
  toRun ??= program();
  const { main, execArgv } = toRun;
  const child = fork(main, {
    execArgv,
    env: { ...env, CALLBOARD_LOG_LEVEL: process.env.CALLBOARD_LOG_LEVEL ?? 'silent' },
  });
  const exited = once(child, 'exit');
  child.send({ type: 'configure', config });
  const ready = Promise.race([once(child, 'message'), exited.then(() => [null])]);
  const [first] = await waitFor('a word of the orchestrator', ready, { withinMs: START_MS });
  const message = FromServer.parse(first);
  if (message.type !== 'ready') throw new Error(`it did not start: ${JSON.stringify(message)}`);
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await waitFor('the end of the orchestrator', exited, { withinMs: START_MS });
  };
  const endIdle = () => Promise.reject(new Error('it runs in a process of its own'));
  return { port: message.port, endIdle, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') };
}
