import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId, type StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { it } from 'vitest';
import { type Installation, install } from '../../../e2e/support/callboard.ts';
import { memoryOf } from '../../../e2e/support/memory.ts';
import { run } from '../../../e2e/support/processes.ts';
import { figures } from './measure.ts';
import { report } from './results.ts';

const ROUNDS = 9;
const STAGES = 500;
/** A client may send a hundred requests a second. */
const PAUSE_MS = 12;
const SESSIONS = 20;
/** Long enough for the work that a start leaves behind. */
const SETTLED_MS = 5_000;
const TOKEN = 'a-token-for-the-benchmark';
const script = prompt({ steps: [{ text: 'Ready.' }] });

it('measures starts and memory', { timeout: 900_000 }, async () => {
  const env = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };
  const installation = await install(env);
  const { model } = installation;
  await (await installation.start()).stop(); // the first start creates files that later starts find
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round++) bare.push(await timed(() => run(process.execPath, ['-e', '0'], '/')));
  const empty = await startTimes(installation);
  let running = await installation.start();
  await sleep(SETTLED_MS);
  const idle = await memoryOf(running.supervisor.pid ?? -1);

  let transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const stageIds: StageId[] = [];
  for (let n = 0; n < SESSIONS; n++) stageIds.push(await createStage(transport));
  await Promise.all(stageIds.map((stageId) => transport.command('start_stage', { stageId })));
  await untilIdle(transport);
  await sleep(SETTLED_MS);
  const withSessions = await memoryOf(running.supervisor.pid ?? -1);
  await running.stop();
  await installation.command('down');

  running = await installation.start();
  transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  for (let n = SESSIONS; n < STAGES; n++) {
    await createStage(transport);
    await sleep(PAUSE_MS);
  }
  await running.stop();
  const full = await startTimes(installation);
  await model.close();

  const baseline = `a Node that does nothing: ${figures(bare).medianMs.toFixed(0)} ms`;
  report('start', [
    { name: 'start to ready, empty board', value: figures(empty).medianMs / 1_000, unit: 's', atMost: 0.6, baseline },
    { name: `start to ready, ${STAGES} stages`, value: figures(full).medianMs / 1_000, unit: 's', atMost: 1, baseline },
    { name: 'memory, idle', value: idle.total, unit: 'MB', atMost: 150, baseline: words(idle.processes) },
    {
      name: `memory, ${SESSIONS} real sessions`,
      value: withSessions.total,
      unit: 'MB',
      atMost: 235,
      baseline: words(withSessions.processes),
    },
  ]);
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function startTimes(installation: Installation): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now();
    const { stop } = await installation.start();
    times.push(performance.now() - begun);
    await stop();
  }
  return times;
}

async function createStage(transport: Transport) {
  const made = { projectId: ProjectId.parse('shop'), title: 'Starts', prompt: script };
  return (await transport.command('create_stage', made)).stage.id;
}

async function untilIdle(transport: Transport): Promise<void> {
  for (;;) {
    const { stages } = await transport.command('get_board', {});
    if (stages.every(({ session }) => session?.state === 'idle')) return;
    await sleep(50);
  }
}

const words = (processes: Record<string, number>): string =>
  Object.entries(processes)
    .map(([name, mb]) => `${name.replace(/ (dist )?\d+$/, '')} ${mb.toFixed(0)}`)
    .join(', ');
