import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CommandReply, ProjectId, StageId, type TranscriptEntry } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { install } from '../../../e2e/support/callboard.ts';
import { cpuSeconds, memoryOf } from '../../../e2e/support/memory.ts';
import { partPid } from '../../../e2e/support/processes.ts';
import { openRawStream, type RawMessage } from '../load/raw-stream.ts';
import { startSwarm } from '../swarm/start-swarm.ts';
import { timeClicks, untilIdle } from './clicks.ts';
import { percentile } from './measure.ts';
import { report } from './results.ts';

/** `BENCH_SECONDS=600` makes the full run of ten minutes; `BENCH_SESSIONS=2000 BENCH_LINES=10` spreads the lines over more sessions. */
const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 500);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
const LINES_A_SECOND = Number(process.env.BENCH_LINES ?? 20);
const CLICKS = 200;
const WATCHED = 10;
const AT_ONCE = 8;
/** A client may send a hundred requests a second. */
const PAUSE_MS = 12;
const SAMPLE_MS = 5_000;
const TOKEN = 'a-token-for-the-benchmark';

const Appended = z.object({ stageId: StageId, index: z.number() });

it(`measures ${SESSIONS} sessions that print ${LINES_A_SECOND} lines a second`, { timeout: 3_600_000 }, async () => {
  const { swarm, running } = await startSwarmed();
  const { pid = -1 } = running.supervisor;
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const empty = await memoryOf(pid);
  const clicked = await startClicked(transport);
  const stageIds = await startAll(transport);
  const idle = await memoryOf(pid);
  const { heard, deltas, since } = await listen(running.origin, transport, stageIds);

  const parts = [await partPid(pid, 'orchestrator'), await partPid(pid, 'web server'), swarm.pid].map(
    (each) => each ?? -1,
  );
  const message = prompt({
    steps: [
      { tools: [{ name: 'Tick', input: { seconds: SECONDS, lines: LINES_A_SECOND } }] },
      { text: 'Done ticking.' },
    ],
  });
  await eachOf(stageIds, (stageId) => transport.command('send_message', { stageId, message }));
  const begun = { at: performance.now(), cpu: await Promise.all(parts.map(cpuSeconds)) };
  const clicking = timeClicks({ origin: running.origin, token: TOKEN, transport, since }, clicked, CLICKS);
  const memory: number[] = [];
  const window = Math.max(5, SECONDS - 20) * 1_000;
  while (performance.now() - begun.at < window) {
    memory.push((await memoryOf(pid)).total);
    await sleep(SAMPLE_MS);
  }
  const seconds = (performance.now() - begun.at) / 1_000;
  const cpu = (await Promise.all(parts.map(cpuSeconds))).map(
    (used, index) => (used - (begun.cpu[index] ?? 0)) / seconds,
  );
  const clicks = await clicking;
  await untilAllIdle(transport, stageIds.length + 1);
  const { late, missing } = await account(transport, stageIds, heard);
  reportAll({ clicks, late, deltas, missing, memory, cpu, empty: empty.total, idle: idle.total });
});

/** Starts Callboard with a swarm of emulators as its `claude`. */
async function startSwarmed() {
  const env = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };
  const swarms: Awaited<ReturnType<typeof startSwarm>>[] = [];
  const installation = await install(env, onTestFinished, async (folder) => {
    const swarm = await startSwarm(folder);
    swarms.push(swarm);
    return swarm.program;
  });
  const [swarm] = swarms;
  if (swarm === undefined) throw new Error('unreachable');
  onTestFinished(swarm.close);
  const running = await installation.start();
  onTestFinished(() => running.stop());
  return { swarm, running };
}

/**
 * Reads the event stream, and watches the first stages.
 * @returns when entries could be read, by stage and index; and the delays of the watched stages' text
 */
async function listen(origin: string, transport: Transport, stageIds: readonly StageId[]) {
  const heard = new Map<string, number>();
  const deltas: number[] = [];
  const onMessage = ({ event, data }: RawMessage) => {
    const now = Date.now();
    if (event === 'transcript-appended') {
      const { stageId, index } = Appended.parse(JSON.parse(data));
      for (let at = index; at > 0 && !heard.has(`${stageId} ${at}`); at--) heard.set(`${stageId} ${at}`, now);
    } else if (event === 'text-delta') {
      for (const [, printed] of data.matchAll(/(\d{13}) /g)) deltas.push(now - Number(printed));
    }
  };
  const { seq } = await transport.command('get_board', {});
  const streams: RawMessage[] = [];
  const close = await openRawStream(origin, TOKEN, seq, (message) => {
    if (message.event === 'stream') streams.push(message);
    onMessage(message);
  });
  onTestFinished(close);
  while (streams.length === 0) await sleep(10);
  const { streamId } = z.object({ streamId: z.string() }).parse(JSON.parse(streams[0]?.data ?? ''));
  const watched = await fetch(`${origin}/api/events/${streamId}/watch`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ stageIds: stageIds.slice(0, WATCHED) }),
  });
  if (!watched.ok) throw new Error(`watching was refused: ${watched.status}`);
  return { heard, deltas, since: seq };
}

interface Measured {
  /** Each from the click to its acknowledgement, in ms. */
  clicks: number[];
  /** Delays of lines, in ms: stored lines, and streamed ones. */
  late: number[];
  deltas: number[];
  missing: number;
  /** In MB: samples while the sessions print, with no session, and with all of them idle. */
  memory: number[];
  empty: number;
  idle: number;
  /** Cores of the orchestrator, the web server and the emulators. */
  cpu: number[];
}

function reportAll({ clicks, late, deltas, missing, memory, empty, idle, cpu }: Measured): void {
  const [first = Number.NaN] = memory;
  report('many-sessions', [
    {
      name: 'click -> acknowledged, p99',
      value: percentile(clicks, 0.99),
      unit: 'ms',
      atMost: 100,
      baseline: `p50 ${percentile(clicks, 0.5).toFixed(0)} ms`,
    },
    {
      name: 'line that is stored -> client, p99',
      value: percentile(late, 0.99),
      unit: 'ms',
      atMost: 500,
      baseline: `p50 ${percentile(late, 0.5).toFixed(0)} ms`,
    },
    {
      name: 'line that streams -> client that watches, p99',
      value: percentile(deltas, 0.99),
      unit: 'ms',
      atMost: 500,
      baseline: `p50 ${percentile(deltas, 0.5).toFixed(0)} ms`,
    },
    { name: 'lines lost', value: missing, unit: '', atMost: 0 },
    {
      name: 'memory, most',
      value: Math.max(...memory),
      unit: 'MB',
      atMost: 360,
      baseline: `empty board ${empty.toFixed(0)} MB, all idle ${idle.toFixed(0)} MB`,
    },
    {
      name: 'memory at the end / at the beginning',
      value: (memory.at(-1) ?? Number.NaN) / first,
      unit: 'x',
      atMost: 1.1,
    },
    {
      name: 'CPU, orchestrator',
      value: cpu[0] ?? Number.NaN,
      unit: 'cores',
      baseline: `the emulators ${cpu[2]?.toFixed(2)}`,
    },
    { name: 'CPU, web server', value: cpu[1] ?? Number.NaN, unit: 'cores' },
  ]);
}

/** Runs the work for all items in order, a few of them at a time. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of queue) {
        await work(item);
        await sleep(AT_ONCE * PAUSE_MS);
      }
    }),
  );
}

/** Starts the session that asks while all others print. */
async function startClicked(transport: Transport): Promise<StageId> {
  const made = { projectId: ProjectId.parse('shop'), title: 'Asks', prompt: prompt({ steps: [{ text: 'Ready.' }] }) };
  const { stage } = await transport.command('create_stage', made);
  await transport.command('start_stage', { stageId: stage.id });
  await untilIdle(transport, stage.id);
  return stage.id;
}

/** Starts sessions; resolves when they have had their first turn and are idle. */
async function startAll(transport: Transport): Promise<StageId[]> {
  const stageIds: StageId[] = [];
  await eachOf(Array.from({ length: SESSIONS }), async () => {
    const made = {
      projectId: ProjectId.parse('shop'),
      title: 'Ticks',
      prompt: prompt({ steps: [{ text: 'Ready.' }] }),
    };
    const { stage } = await transport.command('create_stage', made);
    await transport.command('start_stage', { stageId: stage.id });
    stageIds.push(stage.id);
  });
  await untilAllIdle(transport, SESSIONS + 1);
  return stageIds;
}

async function untilAllIdle(transport: Transport, count: number): Promise<void> {
  for (;;) {
    const { stages } = await transport.command('get_board', {});
    if (stages.filter(({ session }) => session?.state === 'idle').length >= count) return;
    await sleep(500);
  }
}

/** Returns the delay of each second's text, and how many texts are missing or were never sent. */
async function account(transport: Transport, stageIds: readonly StageId[], heard: ReadonlyMap<string, number>) {
  const late: number[] = [];
  let missing = 0;
  await eachOf(stageIds, async (stageId) => {
    const entries = await wholeTranscript(transport, stageId);
    const seen = new Set<number>();
    for (const entry of entries) {
      if (entry.kind !== 'text') continue;
      const [, second, printed] = /^#(\d+)\s.*?(\d{13}) $/s.exec(entry.text) ?? [];
      const at = heard.get(`${stageId} ${entry.index}`);
      if (second === undefined || at === undefined) continue;
      seen.add(Number(second));
      late.push(at - Number(printed));
    }
    missing += SECONDS - seen.size;
  });
  return { late, missing };
}

async function wholeTranscript(transport: Transport, stageId: StageId) {
  const all: TranscriptEntry[] = [];
  for (;;) {
    const { entries, total }: CommandReply<'get_transcript'> = await transport.command('get_transcript', {
      stageId,
      after: all.at(-1)?.index ?? 0,
      limit: 1_000,
    });
    all.push(...entries);
    if (entries.length === 0 || (all.at(-1)?.index ?? 0) >= total) return all;
  }
}
