import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { it, onTestFinished } from 'vitest';
import { install, type Running } from '../../../e2e/support/callboard.ts';
import { partPid } from '../../../e2e/support/processes.ts';
import { type Figure, report } from './results.ts';
import { cpuMs } from './turn/cpu.ts';

const SESSIONS = [0, 1, 20];
const MEASURED_MS = 10_000;
/** Long enough for the work that a start or the end of a turn leaves behind. */
const SETTLED_MS = 8_000;
const TOKEN = 'a-token-for-the-benchmark';

it('measures what both servers use while nothing happens', { timeout: 300_000 }, async () => {
  const installation = await install({ CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') });
  const running = await installation.start();
  onTestFinished(running.stop);
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const measured: Figure[] = [];
  for (const [index, sessions] of SESSIONS.entries()) {
    const before = SESSIONS[index - 1] ?? 0;
    for (let n = before; n < sessions; n++) await startSession(transport);
    await untilIdle(transport);
    await sleep(SETTLED_MS);
    measured.push(...(await idleNow(running, sessions)));
  }
  report('rest', measured);
});

async function idleNow({ supervisor }: Running, sessions: number): Promise<Figure[]> {
  const servers = ['orchestrator', 'web server'] as const;
  const pids = await Promise.all(servers.map((server) => partPid(supervisor.pid ?? -1, server)));
  const used = () => Promise.all(pids.map((pid) => cpuMs(pid ?? -1)));
  const [begun, before] = [performance.now(), await used()];
  await sleep(MEASURED_MS);
  const [seconds, after] = [(performance.now() - begun) / 1_000, await used()];
  return servers.map((server, index) => ({
    name: `CPU at rest, ${server}, ${sessions} idle sessions`,
    value: ((after[index] ?? Number.NaN) - (before[index] ?? Number.NaN)) / seconds,
    unit: 'ms/s',
    atMost: 2,
  }));
}

async function startSession(transport: Transport): Promise<void> {
  const text = prompt({ steps: [{ text: 'Ready.' }] });
  const made = { projectId: ProjectId.parse('shop'), title: 'At rest', prompt: text };
  const { stage } = await transport.command('create_stage', made);
  await transport.command('start_stage', { stageId: stage.id });
}

async function untilIdle(transport: Transport): Promise<void> {
  for (;;) {
    const { stages } = await transport.command('get_board', {});
    if (stages.every(({ session }) => session?.state === 'idle')) return;
    await sleep(50);
  }
}
