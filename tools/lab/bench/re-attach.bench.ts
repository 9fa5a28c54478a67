import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { install } from '../../../e2e/support/callboard.ts';
import { claudePids } from '../../../e2e/support/processes.ts';
import { figures } from './measure.ts';

const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 200);
const AT_ONCE = 8;
const ROUNDS = 3;
const TOKEN = 'a-token-for-the-benchmark';

const asking = prompt({ steps: [{ tools: [{ name: 'Bash', input: { command: 'true', description: 'Wait' } }] }] });

it('measures how long a start takes when it finds sessions, by their number', async () => {
  const env = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };
  const installation = await install(env, onTestFinished, true);
  let running = await installation.start();
  onTestFinished(() => running.stop());
  const transport = () => createHttpTransport({ origin: running.origin, token: TOKEN });
  const restarted = async (): Promise<number> => {
    await running.stop();
    const begun = performance.now();
    running = await installation.start();
    return performance.now() - begun;
  };
  const rounds = async (count: number) => {
    const all: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      all.push(await restarted());
      expect((await transport().command('get_board', {})).pending).toHaveLength(count);
    }
    return figures(all).medianMs;
  };

  await startStages(transport(), 1);
  const withOne = await rounds(1);
  await startStages(transport(), SESSIONS - 1);
  const withAll = await rounds(SESSIONS);
  const pids = await claudePids(installation.folder);
  await running.stop();
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  const begun = performance.now();
  running = await installation.start();
  const withAllGone = performance.now() - begun;
  expect((await transport().command('get_board', {})).pending).toHaveLength(0);
  const row = (ms: number) => ({
    'start (ms)': ms.toFixed(0),
    added: (ms - withOne).toFixed(0),
    ratio: (ms / withOne).toFixed(2),
  });
  console.table({
    'one session': row(withOne),
    [`${SESSIONS} sessions`]: row(withAll),
    [`${SESSIONS} sessions that have died meanwhile`]: row(withAllGone),
  });
}, 600_000);

/** Creates stages whose sessions wait for a person; starts some of them at a time. */
async function startStages(transport: Transport, count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) {
      const made = { projectId: ProjectId.parse('shop'), title: 'Asks', prompt: asking };
      const { stage } = await transport.command('create_stage', made);
      await transport.command('start_stage', { stageId: stage.id });
    }
  };
  const { pending } = await transport.command('get_board', {});
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  while ((await transport.command('get_board', {})).pending.length < pending.length + count) await sleep(100);
}
