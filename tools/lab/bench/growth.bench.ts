import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ProjectId, type StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { it, onTestFinished } from 'vitest';
import { openBrowser } from '../../../e2e/support/browser.ts';
import { type Installation, install, type Running } from '../../../e2e/support/callboard.ts';
import { lengthenTranscript } from '../../../e2e/support/long-transcript.ts';
import { memoryOf } from '../../../e2e/support/memory.ts';
import { nodePlatform } from '../../orchestrator/src/platform/runtime.ts';
import { openSqliteStore } from '../../orchestrator/src/store/sqlite/sqlite-store.ts';
import { silent } from '../../orchestrator/test/support/test-store.ts';
import { openRawStream } from '../load/raw-stream.ts';
import { type Swarm, startSwarm } from '../swarm/start-swarm.ts';
import { LAST_CLICK, timeClicks, untilIdle } from './clicks.ts';
import { copyStage, multiplyEvents, openRows, rowsOf } from './growth/rows.ts';
import { percentile } from './measure.ts';
import { type Figure, report } from './results.ts';
import { partsOf } from './turn/callboard.ts';
import { cpuMs } from './turn/cpu.ts';

/**
 * `BENCH_SIZES=1,100` and `BENCH_GROWTH=stages,events` measure less. `BENCH_PROFILES=<folder>` saves a CPU profile of the servers
 * at the last size, from the start on.
 */
const SIZES = (process.env.BENCH_SIZES ?? '1,10,100,1000,10000').split(',').map(Number);
const ONLY = process.env.BENCH_GROWTH?.split(',');
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const CLICKS = 20;
const SEARCHES = 10;
const PAINTS = 3;
/** Long enough for the work that a start leaves behind. */
const SETTLED_MS = 3_000;
/** Days of work: as many stages a day are completed, each with one turn of a hundred entries. */
const STAGES_A_DAY = 10;
const ENTRIES_OF_A_STAGE = 100;
const DAY_MS = 86_400_000;
/** One credential may have 50 streams. */
const STREAMS_OF_A_LOGIN = 50;
const TOKEN = 'a-token-for-the-benchmark';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const RECORDER = fileURLToPath(new URL('./turn/record-marks.ts', import.meta.url));
/** In many entries of the filled stages. */
const QUERY = 'words answer';
const projectId = ProjectId.parse('shop');

/** Something that grows. */
interface Dimension {
  /** The sizes above it are not measured. */
  most: number;
  /** Makes it so large while Callboard does not run. */
  fill?(here: Place, size: number): Promise<void>;
  /** Makes it so large while Callboard runs; returns what ends it. */
  load?(here: Place, running: Running, size: number): Promise<() => void>;
}

/** An installation with stages to work with. */
interface Place {
  installation: Installation;
  /** Its session asks, over and over. */
  clicked: StageId;
  /** Never started. */
  ready: StageId;
  /** Completed; its session has ended. */
  done: StageId;
  /** The number of the next stage that is copied. */
  next: number;
}

const DIMENSIONS: Record<string, Dimension> = {
  'stages on the board': {
    most: 10_000,
    fill: async (here, size) => copies(here, here.ready, size),
  },
  'entries in a transcript': {
    most: 10_000,
    async fill({ installation, clicked }, size) {
      const last = {
        kind: 'text' as const,
        parentToolUseId: null,
        blockId: `last:${size}`,
        text: 'The very last words.',
      };
      await lengthenTranscript(installation.dataDir, clicked, size, [last]);
    },
  },
  'sessions running': { most: 1_000, load: startSessions },
  'open pages': { most: 1_000, fill: addLogins, load: openPages },
  'events in the log': {
    most: 100_000,
    async fill({ installation }, size) {
      const rows = openRows(installation.dataDir);
      multiplyEvents(rows, size);
      rows.close();
    },
  },
  'days of use': {
    most: 10_000,
    fill: async (here, size) =>
      copies(here, here.done, size * STAGES_A_DAY, (n) => Math.ceil(n / STAGES_A_DAY) * DAY_MS),
  },
};

interface Measured {
  startMs: number;
  startCpuMs: number;
  memoryMb: number;
  clickMs: number;
  clickP99Ms: number;
  clickCpuMs: number;
  searchMs: number;
  paintMs: number;
  stageMs: number;
}
const COLUMNS: readonly { key: keyof Measured; title: string; unit: string }[] = [
  { key: 'startMs', title: 'start', unit: 'ms' },
  { key: 'startCpuMs', title: 'CPU of the start', unit: 'ms' },
  { key: 'memoryMb', title: 'memory', unit: 'MB' },
  { key: 'clickMs', title: 'click, p50', unit: 'ms' },
  { key: 'clickP99Ms', title: 'click, p99', unit: 'ms' },
  { key: 'clickCpuMs', title: 'CPU of a click', unit: 'ms' },
  { key: 'searchMs', title: 'search, p50', unit: 'ms' },
  { key: 'paintMs', title: 'first paint', unit: 'ms' },
  { key: 'stageMs', title: "stage's page", unit: 'ms' },
];

const rows: string[] = [];
const results: Figure[] = [];

it.each(Object.entries(DIMENSIONS).filter(([name]) => ONLY?.some((part) => name.includes(part)) ?? true))(
  'measures the cost of %s',
  { timeout: 3_600_000 },
  async (name, dimension) => {
    const here = await setUp(name);
    for (const size of SIZES.filter((each) => each <= dimension.most)) {
      await dimension.fill?.(here, size);
      const measured = await measure(here, dimension, size);
      const cells = COLUMNS.map(({ key }) => measured[key].toFixed(measured[key] < 20 ? 1 : 0));
      rows.push(`| ${name} | ${size.toLocaleString('en')} | ${cells.join(' | ')} |`);
      console.log(rows.at(-1));
      for (const { key, title, unit } of COLUMNS)
        results.push({ name: `${title}, ${size} ${name}`, value: measured[key], unit });
    }
    const head = ['what', 'size', ...COLUMNS.map(({ title, unit }) => `${title} (${unit})`)];
    console.log([`| ${head.join(' | ')} |`, `|${head.map(() => '---|').join('')}`, ...rows].join('\n'));
    report('growth', results);
  },
);

async function setUp(name: string): Promise<Place> {
  const profiles = process.env.BENCH_PROFILES;
  const swarms: Swarm[] = [];
  const installation = await install(
    {
      CALLBOARD_TOKEN_SHA256: sha256(TOKEN),
      ...(profiles !== undefined && {
        NODE_OPTIONS: `--import=${RECORDER}`,
        BENCH_MARKS: join(profiles, 'marks'),
        BENCH_PROFILES: profiles,
      }),
    },
    onTestFinished,
    name !== 'sessions running' ||
      (async (folder) => {
        const swarm = await startSwarm(folder);
        swarms.push(swarm);
        return swarm.program;
      }),
  );
  for (const swarm of swarms) onTestFinished(swarm.close); // before the installation looks for what is left
  const running = await installation.start();
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const create = async (title: string, steps: Parameters<typeof prompt>[0]['steps']) =>
    (await transport.command('create_stage', { projectId, title, prompt: prompt({ steps }) })).stage.id;
  const [clicked, ready, done] = [
    await create('Clicked', [{ text: 'Ready.' }]),
    await create('Waits for its start', [{ text: 'Ready.' }]),
    await create('Completed', [{ text: 'Ready.' }]),
  ];
  for (const stageId of [clicked, done]) await transport.command('start_stage', { stageId });
  for (const stageId of [clicked, done]) await untilIdle(transport, stageId);
  await transport.command('complete_stage', { stageId: done });
  await untilCompleted(transport, done);
  await running.stop();
  const last = { kind: 'text' as const, parentToolUseId: null, blockId: 'last:0', text: 'Done, and completed.' };
  await lengthenTranscript(installation.dataDir, done, ENTRIES_OF_A_STAGE, [last]);
  return { installation, clicked, ready, done, next: 1_000 };
}

async function untilCompleted(transport: Transport, stageId: StageId): Promise<void> {
  for (;;) {
    const { stages } = await transport.command('get_board', {});
    if (stages.find(({ id }) => id === stageId)?.completedAt !== null) return;
    await sleep(50);
  }
}

/** Copies a stage until there are so many of it. */
async function copies(here: Place, stageId: StageId, size: number, agoMs?: (n: number) => number): Promise<void> {
  const database = openRows(here.installation.dataDir);
  const count = size - (here.next - 1_000) - 1;
  copyStage(database, rowsOf(database, stageId), { from: here.next, count }, agoMs);
  database.prepare(`update counters set value = max(value, ?) where name = 'stage'`).run(here.next + count);
  database.close();
  here.next += Math.max(0, count);
}

async function measure(here: Place, dimension: Dimension, size: number): Promise<Measured> {
  const { installation } = here;
  await prepare(here, dimension, size);
  const starts: { ms: number; cpuMs: number }[] = [];
  let running: Running | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    await running?.stop();
    const begun = performance.now();
    running = await installation.start();
    starts.push({ ms: performance.now() - begun, cpuMs: await cpuOf(running) });
  }
  if (running === null) throw new Error('unreachable');
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const end = await dimension.load?.(here, running, size);
  await sleep(SETTLED_MS);
  const memory = await memoryOf(running.supervisor.pid ?? -1);
  const { seq: since } = await transport.command('get_board', {});
  const before = await cpuOf(running);
  const clicks = await timeClicks({ origin: running.origin, token: TOKEN, transport, since }, here.clicked, CLICKS);
  const clickCpuMs = ((await cpuOf(running)) - before) / CLICKS;
  const searches = await timesOf(SEARCHES, () => transport.command('search', { q: QUERY }));
  const paints = await paint(here, running);
  end?.();
  await running.stop();
  return {
    startMs: percentile(
      starts.map(({ ms }) => ms),
      0.5,
    ),
    startCpuMs: percentile(
      starts.map(({ cpuMs: used }) => used),
      0.5,
    ),
    memoryMb: memory.total,
    clickMs: percentile(clicks, 0.5),
    clickP99Ms: percentile(clicks, 0.99),
    clickCpuMs,
    searchMs: percentile(searches, 0.5),
    paintMs: percentile(paints.board, 0.5),
    stageMs: percentile(paints.stage, 0.5),
  };
}

/**
 * Makes what outlives a stop, so that the starts that are measured find it: sessions, and the search index, which follows the
 * store and must not work while something is measured.
 */
async function prepare(here: Place, { load }: Dimension, size: number): Promise<void> {
  const running = await here.installation.start();
  const end = await load?.(here, running, size);
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  // Until a large store is indexed, a search may take longer than it is waited for.
  const indexing = () => transport.command('search', { q: QUERY }).then((reply) => reply.indexing, String);
  while ((await indexing()) !== null) await sleep(500);
  end?.();
  await running.stop();
}

async function cpuOf({ supervisor }: Running): Promise<number> {
  const pids = [...(await partsOf(supervisor.pid ?? -1)).keys()];
  return (await Promise.all(pids.map(cpuMs))).reduce((total, one) => total + one, 0);
}

async function timesOf(rounds: number, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return times;
}

/** Loads the board until its first stage is drawn, and the page of the stage that asked until its last entry is. */
async function paint({ clicked }: Place, { loginLink, origin }: Running) {
  const { page, context } = await openBrowser({ width: 1440, height: 900 });
  await page.goto(loginLink);
  const row = page.getByText('Clicked', { exact: true }).first();
  await row.waitFor();
  const last = page.getByText(LAST_CLICK).last();
  const board = await timesOf(PAINTS, () => open(page, origin, () => row.waitFor()));
  const stage = await timesOf(PAINTS, () => open(page, `${origin}/stages/${clicked}`, () => last.waitFor()));
  await context.close();
  return { board, stage };
}

async function open(page: Page, url: string, until: () => Promise<void>): Promise<void> {
  await page.goto('about:blank');
  await page.goto(url);
  await until();
}

/** Starts more sessions until there are so many, and has each of them print. */
async function startSessions({ clicked }: Place, { origin }: Running, size: number): Promise<() => void> {
  const transport = createHttpTransport({ origin, token: TOKEN });
  const { stages } = await transport.command('get_board', {});
  const isRunning = stages.filter(({ id, session }) => id !== clicked && session !== null && session.state !== 'ended');
  const message = prompt({ steps: [{ tools: [{ name: 'Tick', input: { seconds: 3_600, lines: 10 } }] }] });
  for (let n = isRunning.length; n < size; n++) {
    const { stage } = await transport.command('create_stage', { projectId, title: `Prints ${n}`, prompt: message });
    await transport.command('start_stage', { stageId: stage.id });
    await sleep(24); // a client may send a hundred requests a second
  }
  const isPrinting = async () =>
    (await transport.command('get_board', {})).stages.filter(({ session }) => session?.state === 'busy').length;
  while ((await isPrinting()) < size) await sleep(500);
  return () => undefined;
}

const tokenOf = (n: number) => `a-token-for-page-${n}`;

/** Gives pages their logins. */
async function addLogins({ installation }: Place, size: number): Promise<void> {
  const store = await openSqliteStore(join(installation.dataDir, 'store.sqlite'), nodePlatform, silent);
  await store.transact(async (tx) => {
    for (let n = 0; n < size; n += STREAMS_OF_A_LOGIN)
      await tx.logins.save({
        secretHash: sha256(tokenOf(n)),
        kind: 'token',
        name: 'Ada',
        createdAt: tx.now,
        expiresAt: new Date(Date.now() + DAY_MS).toISOString(),
        page: null,
        terminal: { loginId: randomUUID(), name: 'Bench' },
      });
  });
  await store.close();
}

async function openPages(_: Place, { origin }: Running, size: number): Promise<() => void> {
  const closers: (() => void)[] = [];
  const { seq } = await createHttpTransport({ origin, token: TOKEN }).command('get_board', {});
  for (let n = 0; n < size; n++) {
    const token = tokenOf(n - (n % STREAMS_OF_A_LOGIN));
    closers.push(await openRawStream(origin, token, seq, () => undefined));
  }
  return () => {
    for (const close of closers) close();
  };
}
