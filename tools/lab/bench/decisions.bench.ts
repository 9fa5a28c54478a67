import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectId, type StageId } from '@callboard/contract';
import { createHttpTransport, type Transport, TransportError } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { describe, it } from 'vitest';
import { cpuSeconds } from '../../../e2e/support/memory.ts';
import { partPid } from '../../../e2e/support/processes.ts';
import { postgresLack } from '../../../test-support/postgres.ts';
import type { AtEnd } from '../../../test-support/temporary-folder.ts';
import { TOKEN } from '../chaos/machine.ts';
import { type Instance, openInstance } from '../chaos/place.ts';
import { createRandom } from '../chaos/random.ts';
import { type Figure, report } from './results.ts';

/** Sessions of all machines together, and how often each asks. */
const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 24);
const DECISIONS = Number(process.env.BENCH_DECISIONS ?? 20);
const MACHINES = [1, 2, 3];
const PAUSE_MS = 12;
/** What syncs as a server in use does. */
const DURABLE = ['fsync = on', 'full_page_writes = on', 'shared_buffers = 128MB'];

interface Measured {
  perSecond: number;
  /** CPU of the orchestrators and web servers, in ms a decision. */
  cpuMs: number;
  /** Write transactions a decision, and those of them that no other machine's ran beside; null with a store in a file. */
  commits: Commits | null;
}

interface Commits {
  all: number;
  alone: number;
}

describe.skipIf(postgresLack !== '')(`decisions a second${postgresLack && ` (${postgresLack})`}`, () => {
  it('measures how many are carried with a store in a file, and by one, two and three machines', async () => {
    const file = await measure(1, false);
    const shared: Measured[] = [];
    for (const machines of MACHINES) shared.push(await measure(machines, true));
    report('decisions', [
      { name: 'decisions, store in a file', value: file.perSecond, unit: '/s' },
      { name: 'CPU of Callboard a decision, store in a file', value: file.cpuMs, unit: 'ms' },
      ...shared.flatMap((one, index) => figuresOf(MACHINES[index] ?? 0, one, { file, first: shared[0] ?? one })),
    ]);
  }, 1_800_000);
});

function figuresOf(
  machines: number,
  { perSecond, cpuMs, commits }: Measured,
  { file, first }: { file: Measured; first: Measured },
): Figure[] {
  const of = `${machines} on PostgreSQL`;
  const baseline = `one machine on PostgreSQL ${first.perSecond.toFixed(1)}/s, a file ${file.perSecond.toFixed(1)}/s`;
  return [
    { name: `decisions, ${of}`, value: perSecond, unit: '/s' },
    { name: `decisions, ${of} / 1 on PostgreSQL`, value: perSecond / first.perSecond, unit: 'x', baseline },
    { name: `decisions, ${of} / store in a file`, value: perSecond / file.perSecond, unit: 'x', baseline },
    { name: `CPU of Callboard a decision, ${of}`, value: cpuMs, unit: 'ms' },
    { name: `commits a decision, ${of}`, value: commits?.all ?? Number.NaN, unit: '' },
    { name: `of which nothing ran beside, ${of}`, value: commits?.alone ?? Number.NaN, unit: '' },
  ];
}

/** Has emulated sessions ask again and again, and answers at once through the machines' own web servers. */
async function measure(machines: number, isShared: boolean): Promise<Measured> {
  const ends: Parameters<AtEnd>[0][] = [];
  try {
    const random = createRandom(1);
    const atEnd: AtEnd = (end) => void ends.push(end);
    const settings = { isEmulated: true, hasOwnNetworks: false, hasStandby: false, databaseSettings: DURABLE };
    const place = await openInstance({ machines, isShared, random, atEnd, ...settings });
    const transports = place.machines.map(({ entry }) =>
      createHttpTransport({ origin: `http://${entry().host}`, token: TOKEN }),
    );
    const stages = await startAll(place, transports);
    const pids = await serversOf(place);
    const before = { at: performance.now(), cpu: await sum(pids), commits: await commitsOf(place) };
    await Promise.all(stages.map((stageIds, index) => work(transports[index], stageIds)));
    const seconds = (performance.now() - before.at) / 1_000;
    const decisions = stages.flat().length * DECISIONS;
    const commits = await commitsOf(place);
    const since = (end: number, begin: number) => (end - begin) / decisions;
    return {
      perSecond: decisions / seconds,
      cpuMs: (1_000 * ((await sum(pids)) - before.cpu)) / decisions,
      commits:
        commits === null || before.commits === null
          ? null
          : { all: since(commits.all, before.commits.all), alone: since(commits.alone, before.commits.alone) },
    };
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

const serversOf = async ({ machines }: Instance): Promise<number[]> => {
  const found = machines.flatMap((machine) =>
    (['orchestrator', 'web server'] as const).map((part) => partPid(machine.startedPid(), part)),
  );
  return (await Promise.all(found)).filter((pid) => pid !== null);
};

const sum = async (pids: readonly number[]): Promise<number> =>
  (await Promise.all(pids.map(cpuSeconds))).reduce((total, one) => total + one, 0);

const commitsOf = async ({ database }: Instance): Promise<Commits | null> =>
  database === null
    ? null
    : {
        all: await database.count('select "commit" from cluster_state'),
        alone: await database.count('select alone from cluster_state'),
      };

/** Starts the same number of sessions on each machine; resolves with them when they are idle. */
async function startAll({ machines, database }: Instance, transports: readonly Transport[]): Promise<StageId[][]> {
  const all: StageId[][] = [];
  for (const [index, transport] of transports.entries()) {
    const stageIds: StageId[] = [];
    for (let n = 0; n < SESSIONS / transports.length; n++) {
      const made = {
        projectId: ProjectId.parse('shop'),
        title: 'Asks',
        prompt: prompt({ steps: [{ text: 'Ready.' }] }),
        machine: database === null ? undefined : machines[index]?.name,
      };
      const { stage } = await transport.command('create_stage', made);
      await transport.command('start_stage', { stageId: stage.id });
      stageIds.push(stage.id);
      await sleep(PAUSE_MS); // a client may send a hundred requests a second
    }
    all.push(stageIds);
  }
  for (const [index, transport] of transports.entries()) await untilIdle(transport, all[index] ?? []);
  return all;
}

async function untilIdle(transport: Transport, stageIds: readonly StageId[]): Promise<void> {
  for (;;) {
    const { stages } = await untilTaken(() => transport.command('get_board', {}));
    const idle = stages.filter(({ id, session }) => stageIds.includes(id) && session?.state === 'idle');
    if (idle.length === stageIds.length) return;
    await sleep(100);
  }
}

/** One message that asks so often, to each session; and every request is answered as soon as it is seen. */
async function work(transport: Transport | undefined, stageIds: readonly StageId[]): Promise<void> {
  if (transport === undefined) throw new Error('each machine has a web server');
  const done = new AbortController();
  const { seq } = await transport.command('get_board', {});
  const answering = answer(transport, seq, stageIds, done.signal);
  const asks = Array.from({ length: DECISIONS }, (_, n) => ({
    tools: [{ name: 'Bash', input: { command: `true ${n}`, description: 'Nothing' } }],
  }));
  for (const stageId of stageIds) {
    await transport.command('send_message', { stageId, message: prompt({ steps: [...asks, { text: 'done' }] }) });
    await sleep(PAUSE_MS);
  }
  await Promise.race([answering, untilIdle(transport, stageIds)]);
  done.abort();
  await answering;
}

async function answer(
  transport: Transport,
  since: number,
  stageIds: readonly StageId[],
  signal: AbortSignal,
): Promise<void> {
  for await (const item of transport.events({ since }, signal)) {
    if (item.type !== 'approval-requested' || !stageIds.includes(item.data.stageId)) continue;
    const { stageId, requestId } = item.data;
    void untilTaken(() => transport.command('approve_tool', { stageId, requestId, decision: 'allow' })).catch(
      console.error,
    );
  }
}

/** A client may send a hundred requests a second; beyond, it tries again. */
async function untilTaken<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof TransportError && error.code === 'too_many_requests')) throw error;
    }
    await sleep(PAUSE_MS);
  }
}
