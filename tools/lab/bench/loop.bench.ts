import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ProjectId, RequestId, StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { install } from '../../../e2e/support/callboard.ts';
import { partPid } from '../../../e2e/support/processes.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { openRawStream } from '../load/raw-stream.ts';
import { RECORDER, readStretches, type Stretches } from './loop/read-stretches.ts';
import { percentile } from './measure.ts';
import { type Figure, report } from './results.ts';

const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 30);
const TURNS = 3;
const LIMIT_MS = 5;
/** Long enough for the work that follows a turn. */
const SETTLED_MS = 4_000;
const TOKEN = 'a-token-for-the-benchmark';
const IDLE = fileURLToPath(new URL('loop/idle-node.ts', import.meta.url));
const NAMES = ['orchestrator', 'web-server', 'idle'] as const;

const Asked = z.object({ stageId: StageId, requestId: RequestId });

/** A command that asks, one with much output, and text. */
const script = (n: number) =>
  prompt({
    steps: [
      { tools: [{ name: 'Bash', input: { command: `touch f${n}`, description: 'Touch' } }] },
      {
        tools: [{ name: 'Bash', input: { command: `seq 1 20000 | tee s${n} | head -c 25000`, description: 'Count' } }],
      },
      { text: `done ${n}. ${'Some more words. '.repeat(50)}`, chunkChars: 20 },
    ],
  });

it(`measures how long the servers block their event loops with ${SESSIONS} sessions`, async () => {
  const recorded = await temporaryFolder();
  const recording = {
    NODE_OPTIONS: `--import=${RECORDER}`,
    BENCH_STRETCHES: join(recorded, 'stretches'),
    ...(process.env.BENCH_PROFILES !== undefined && { BENCH_PROFILES: process.env.BENCH_PROFILES }),
  };
  const token = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };
  const installation = await install({ ...token, ...recording });
  const idle = spawn(process.execPath, [IDLE], {
    env: { ...process.env, ...recording },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  onTestFinished(async () => {
    idle.stdin?.end();
    await once(idle, 'exit');
  });
  const running = await installation.start();
  onTestFinished(() => running.stop());
  const { pid = -1 } = running.supervisor;
  const pids = {
    orchestrator: (await partPid(pid, 'orchestrator')) ?? -1,
    'web-server': (await partPid(pid, 'web server')) ?? -1,
    idle: idle.pid ?? -1,
  };
  let number = 0;
  /** Reads what was recorded since the last call. */
  async function stretches(of: string): Promise<Figure[]> {
    number++;
    for (const name of NAMES) process.kill(pids[name], 'SIGUSR2');
    const all = await Promise.all(NAMES.map((name) => readStretches(`${recorded}/stretches.${name}.${number}`)));
    const [orchestrator = [], webServer = [], nothing = []] = all;
    const idleMs = nothing.map(({ wallMs }) => wallMs);
    const baseline = `an idle Node is late by ${Math.max(0, ...idleMs).toFixed(0)} ms at most, ${over(idleMs)} times by more than ${LIMIT_MS}`;
    return [
      ...figuresOf(`orchestrator, ${of}`, orchestrator, baseline),
      ...figuresOf(`web server, ${of}`, webServer, baseline),
    ];
  }

  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const projectId = ProjectId.parse('shop');
  await transport.command('update_project', { projectId, settings: { sandbox: false } });
  const stageIds: StageId[] = [];
  for (let n = 0; n < SESSIONS; n++) {
    const made = { projectId, title: `Loop ${n}`, prompt: prompt({ steps: [{ text: 'Ready.' }] }) };
    stageIds.push((await transport.command('create_stage', made)).stage.id);
  }
  const { seq } = await transport.command('get_board', {});
  const close = await openRawStream(running.origin, TOKEN, seq, ({ event, data }) => {
    if (event !== 'approval-requested') return;
    const { stageId, requestId } = Asked.parse(JSON.parse(data));
    void transport.command('approve_tool', { stageId, requestId, decision: 'allow' });
  });
  onTestFinished(close);
  await stretches('before');
  await Promise.all(stageIds.map((stageId) => transport.command('start_stage', { stageId })));
  await untilIdle(transport);
  const starting = await stretches('starting');
  for (let turn = 0; turn < TURNS; turn++) {
    await Promise.all(stageIds.map((stageId) => transport.command('send_message', { stageId, message: script(turn) })));
    await untilIdle(transport);
    await sleep(SETTLED_MS);
  }
  report('loop', [...starting, ...(await stretches('working'))]);
}, 900_000);

const over = (values: readonly number[]) => values.filter((ms) => ms > LIMIT_MS).length;

/** Time in which a process waited for a CPU does not count as blocking its event loop. */
function figuresOf(name: string, stretches: Stretches, baseline: string): Figure[] {
  const held = stretches.map(({ heldMs }) => heldMs);
  return [
    { name: `longest stretch, ${name}`, value: Math.max(0, ...held), unit: 'ms', atMost: LIMIT_MS, baseline },
    { name: `stretches of more than ${LIMIT_MS} ms, ${name}`, value: over(held), unit: '' },
    {
      name: `late by, p99 of what was late, ${name}`,
      value: percentile(
        stretches.map(({ wallMs }) => wallMs),
        0.99,
      ),
      unit: 'ms',
    },
  ];
}

async function untilIdle(transport: Transport): Promise<void> {
  for (;;) {
    const { stages } = await transport.command('get_board', {});
    if (stages.every(({ session }) => session?.state === 'idle')) return;
    await sleep(200);
  }
}
