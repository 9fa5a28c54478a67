import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BoardEvent, LaunchId, type StageId } from '@callboard/contract';
import { isStorageFailure } from '@callboard/orchestrator/storage-error';
import { type DatabaseAddress, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { findProgram } from '../../../scripts/debian.ts';
import {
  createDatabase,
  createDatabaseOn,
  postgresLack,
  runSql,
  startPostgres,
} from '../../../test-support/postgres.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { until } from '../../../test-support/until.ts';
import { newSession } from '../../orchestrator/src/core/session/new-session.ts';
import { AppError } from '../../orchestrator/src/lib/errors.ts';
import { nodePlatform } from '../../orchestrator/src/platform/runtime.ts';
import type { SharedStore } from '../../orchestrator/src/store/shared-store.ts';
import type { CommitOptions, Tx } from '../../orchestrator/src/store/store.ts';
import { LEASE_MS, machineId, machineReport } from '../../orchestrator/test/support/test-machines.ts';
import { answer } from '../../orchestrator/test/support/test-outbox-writer.ts';
import { createStoreDatabase } from '../../orchestrator/test/support/test-postgres.ts';
import { sampleProject, sampleStage, silent, stageId } from '../../orchestrator/test/support/test-store.ts';
import { createConnect } from './pg-link.ts';
import { openPostgresStore } from './postgres-store.ts';

const [dumps, restores] = ['pg_dump', 'pg_restore'].map(findProgram);

/** Numbers that are counted up: one of each stage, and one that all machines share. */
const SHARED = 'shared';
type Counter = string;

/** What one transaction was told, and when, by the one clock of this process. */
interface Operation {
  counter: Counter;
  begun: number;
  ended: number;
  /** Null: it was refused. Undefined: nobody knows. */
  stored: { index: number; saw: Readonly<Record<Counter, number>> } | null | undefined;
}

/** An event: that a counter was counted up to a number. */
const Counted = z.object({ seq: z.int(), counter: z.string(), index: z.int() });
type Counted = z.infer<typeof Counted>;

/**
 * Compares what transactions were told with the order of their events. Returns what contradicts it: the transactions could not have run one
 * after another in this order, or it is not the order in which they were acknowledged.
 */
function contradictions(operations: readonly Operation[], log: readonly Counted[]): string[] {
  const found: string[] = [];
  const seqs = log.map(({ seq }) => seq);
  if (seqs.some((seq, at) => at > 0 && seq !== (seqs[at - 1] ?? 0) + 1)) found.push('numbers with gaps');
  const values = new Map<Counter, number>();
  const seqOf = new Map<string, number>();
  const seenAt = new Map(
    operations.flatMap((one) => (one.stored ? [[`${one.counter} ${one.stored.index}`, one.stored.saw]] : [])),
  );
  for (const { seq, counter, index } of log) {
    const key = `${counter} ${index}`;
    if (index !== (values.get(counter) ?? 0) + 1) found.push(`${key} follows ${values.get(counter) ?? 0}`);
    for (const [other, value] of Object.entries(seenAt.get(key) ?? {}))
      if (value !== (values.get(other) ?? 0))
        found.push(`${key} saw ${other} at ${value}, not ${values.get(other) ?? 0}`);
    values.set(counter, index);
    seqOf.set(key, seq);
  }
  const stored = operations.flatMap((one) =>
    one.stored ? [{ ...one, key: `${one.counter} ${one.stored.index}` }] : [],
  );
  for (const { key } of stored) if (!seqOf.has(key)) found.push(`${key} was acknowledged and is lost`);
  if (new Set(stored.map(({ key }) => key)).size < stored.length) found.push('a number was given twice');
  const unknown = operations.filter((one) => one.stored === undefined).length;
  if (log.length < stored.length || log.length > stored.length + unknown) found.push('events of refused transactions');
  let newest = { ended: 0, seq: 0 };
  const byEnd = stored.toSorted((a, b) => a.ended - b.ended);
  for (const one of stored.toSorted((a, b) => a.begun - b.begun)) {
    for (let next = byEnd[0]; next !== undefined && next.ended < one.begun; next = byEnd[0]) {
      byEnd.shift();
      newest = { ended: next.ended, seq: Math.max(newest.seq, seqOf.get(next.key) ?? 0) };
    }
    if ((seqOf.get(one.key) ?? Infinity) < newest.seq) found.push(`${one.key} is before one that had ended`);
  }
  return found;
}

describe('contradictions', () => {
  const operation = (counter: Counter, index: number, at: number, saw = {}): Operation => ({
    counter,
    begun: at,
    ended: at + 0.5,
    stored: { index, saw },
  });
  const good = [operation('a', 1, 1), operation('shared', 1, 2, { a: 1 }), operation('a', 2, 3, { shared: 1 })];
  const log = good.map(({ counter, stored }, at) => ({ seq: 5 + at, counter, index: stored?.index ?? 0 }));

  it('are none in a history of one after another', () => {
    expect(contradictions(good, log)).toEqual([]);
  });

  it.each<[string, Operation[], Counted[]]>([
    ['a lost event', good, log.slice(0, 2)],
    ['a doubled event', good, [...log, { seq: 8, counter: 'a', index: 2 }]],
    ['a gap', good, log.map((one) => ({ ...one, seq: one.seq * 2 }))],
    ['a lost update', [...good, operation('a', 2, 4)], log],
    ['a stale read', [...good.slice(0, 2), operation('a', 2, 3, { shared: 0 })], log],
    [
      'an order that is not that of the acknowledgements',
      [operation('a', 1, 4), operation('b', 1, 1)],
      [
        { seq: 5, counter: 'a', index: 1 },
        { seq: 6, counter: 'b', index: 1 },
      ],
    ],
    [
      'an event of a refused transaction',
      [{ ...operation('a', 1, 1), stored: null }],
      [{ seq: 1, counter: 'a', index: 1 }],
    ],
  ])('are found for %s', (_what, operations, events) => {
    expect(contradictions(operations, events)).not.toEqual([]);
  });
});

const MACHINES = [1, 2, 3];
/** Workers of each machine, and how often each counts. */
const WORKERS = 4;
const TIMES = 20;

async function openMachines(given?: DatabaseAddress, numbers = MACHINES) {
  const address = given ?? (await createStoreDatabase());
  const link = await createConnect(address)();
  onTestFinished(link.end);
  const heard = new Map<SharedStore, BoardEvent[]>();
  const stores = await Promise.all(
    numbers.map(async () => {
      const store = await openPostgresStore({ address, platform: nodePlatform, log: silent });
      onTestFinished(store.close);
      const events: BoardEvent[] = [];
      heard.set(store, events);
      store.onEvent((event) => void events.push(event));
      return store;
    }),
  );
  const stages: StageId[][] = [];
  for (const [at, store] of stores.entries()) {
    const here = machineId(numbers[at] ?? 0);
    const ids = [stageId(`S${at}-1`), stageId(`S${at}-2`)];
    stages.push(ids);
    const epoch = await store.transact(async (tx) => {
      if (at === 0) await tx.projects.save(sampleProject());
      for (const id of ids) {
        const stage = sampleStage({ id, machineId: here });
        await tx.stages.insert(stage);
        await tx.sessions.save(newSession(stage, tx.now));
      }
      return tx.machines.register(here, machineReport(), LEASE_MS);
    });
    store.fenceWith({ machineId: here, epoch });
  }
  return { stores, stages, heard, link };
}

const shared = async (tx: Tx): Promise<number> => Number((await tx.holds.list())[0]?.by ?? 0);
const ofStage = async (tx: Tx, id: StageId): Promise<number> => (await tx.sessions.find(id))?.transcriptLength ?? 0;

/** Reads the number of a stage and the shared one, and counts up the first. */
async function countStage(tx: Tx, id: StageId) {
  const record = await tx.sessions.find(id);
  if (record === null) throw new Error('no session');
  const saw = { [SHARED]: await shared(tx), [id]: record.transcriptLength };
  const index = record.transcriptLength + 1;
  await tx.sessions.save({ ...record, transcriptLength: index });
  await tx.emit({ type: 'transcript-appended', data: { stageId: id, index } });
  return { index, saw };
}

/** Reads all numbers, and counts up the shared one. */
async function countShared(tx: Tx, all: readonly StageId[]) {
  const saw: Record<Counter, number> = { [SHARED]: await shared(tx) };
  for (const id of all) saw[id] = await ofStage(tx, id);
  const index = (saw[SHARED] ?? 0) + 1;
  await tx.holds.save({ scope: {}, by: String(index), at: tx.now, except: [] });
  await tx.emit({ type: 'transcript-appended', data: { stageId: stageId(SHARED), index } });
  return { index, saw };
}

/** Runs a transaction and notes what it was told. @throws whatever no store may fail with */
async function note(operations: Operation[], counter: Counter, run: () => Promise<NonNullable<Operation['stored']>>) {
  const operation: Operation = { counter, begun: performance.now(), ended: Infinity, stored: undefined };
  operations.push(operation);
  try {
    operation.stored = await run();
  } catch (error) {
    const isUnknown = error instanceof AppError && error.code === 'no_confirmation';
    const isRefused = isStorageFailure(error) || (error instanceof AppError && error.code === 'lease_lost');
    if (!isUnknown && !isRefused) throw error;
    if (!isUnknown) operation.stored = null;
  }
  operation.ended = performance.now();
}

const optionsOf = (nth: number, stage: StageId): CommitOptions =>
  [{ stage }, { stage, sync: 'later' } as const, { stage, batch: true } as const][nth % 3] ?? {};

/** Has all workers of all machines count, each its own stages and now and then the shared number. */
async function countAll({ stores, stages }: Awaited<ReturnType<typeof openMachines>>): Promise<Operation[]> {
  const operations: Operation[] = [];
  const all = stages.flat();
  const work = async (store: SharedStore, own: readonly StageId[], worker: number) => {
    for (let nth = 0; nth < TIMES; nth++) {
      const id = own[(worker + nth) % own.length] ?? stageId('none');
      if ((worker + nth) % 7 === 0) await note(operations, SHARED, () => store.transact((tx) => countShared(tx, all)));
      else await note(operations, id, () => store.transact((tx) => countStage(tx, id), optionsOf(nth, id)));
    }
  };
  const workers = Array.from({ length: WORKERS }, (_, at) => at);
  await Promise.all(stores.flatMap((store, at) => workers.map((worker) => work(store, stages[at] ?? [], worker))));
  return operations;
}

/** The log, once each machine has heard all of it, in order. */
async function logOf({ stores, heard }: Awaited<ReturnType<typeof openMachines>>): Promise<Counted[]> {
  const [store] = stores;
  if (store === undefined) throw new Error('no store');
  const log: BoardEvent[] = [];
  for (let page: BoardEvent[] = await store.read.events.since(0, 500); page.length > 0; ) {
    log.push(...page);
    page = await store.read.events.since(log.at(-1)?.seq ?? 0, 500);
  }
  for (const events of heard.values()) await expect.poll(() => events, { timeout: 10_000 }).toEqual(log);
  return log.flatMap(({ seq, type, data }) =>
    type === 'transcript-appended' ? [{ seq, counter: data.stageId, index: data.index }] : [],
  );
}

describe.skipIf(postgresLack !== '')(`three machines on one database${postgresLack && ` (${postgresLack})`}`, () => {
  it('write side by side as if one after another, in the order of their events', async () => {
    const machines = await openMachines();
    const operations = await countAll(machines);
    expect(operations.every(({ stored }) => stored != null)).toBe(true);
    const log = await logOf(machines);
    expect(contradictions(operations, log)).toEqual([]);
    const { rows } = await machines.link.query({ text: 'select ("commit" - alone)::int as beside from cluster_state' });
    const { beside } = z.object({ beside: z.int() }).parse(rows[0]);
    expect(beside).toBeGreaterThan(operations.length / 3); // several of a batch share a commit
  });

  it.skipIf(!dumps || !restores)('are dumped as of one moment while they write', async () => {
    const [url, empty] = [await createDatabase(), await createDatabase()];
    const machines = await openMachines(parseDatabaseUrl(url));
    const file = join(await temporaryFolder(), 'callboard.dump');
    const dump = async () => {
      await expect.poll(() => machines.heard.get(machines.stores[0] as SharedStore)?.length).toBeGreaterThan(20);
      await promisify(execFile)(dumps ?? '', ['--format=custom', `--file=${file}`, url]);
    };
    const [operations] = await Promise.all([countAll(machines), dump()]);
    expect(contradictions(operations, await logOf(machines))).toEqual([]);
    await promisify(execFile)(restores ?? '', ['--exit-on-error', '--no-owner', `--dbname=${empty}`, file]);
    const link = await createConnect(parseDatabaseUrl(empty))();
    onTestFinished(link.end);
    const [log, numbers, last] = await link.queryAll(`
      select seq::int, data::json ->> 'stageId' as counter, (data::json ->> 'index')::int as index from events order by seq;
      select stage_id as counter, (document::json ->> 'transcriptLength')::int as index from sessions
        union all select '${SHARED}', (document::json ->> 'by')::int from holds;
      select seq::int from cluster_state`);
    const dumped = z.array(Counted).parse(log?.rows);
    expect(contradictions([], dumped)).toEqual(dumped.length > 0 ? ['events of refused transactions'] : []);
    expect(last?.rows).toEqual([{ seq: dumped.at(-1)?.seq ?? 0 }]);
    const newest = new Map(dumped.map(({ counter, index }) => [counter, index]));
    for (const { counter, index } of z.array(Counted.omit({ seq: true })).parse(numbers?.rows))
      expect([counter, index]).toEqual([counter, newest.get(counter) ?? 0]);
  });

  it('lose, double and reorder nothing when their connections are cut at any moment', async () => {
    const machines = await openMachines();
    let isOver = false;
    let cuts = 0;
    const cutAll = async () => {
      while (!isOver) {
        const [cut] = await machines.link.queryAll(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and application_name = 'callboard'
            and state <> 'idle' order by random() limit 1; select pg_sleep(0.05)`);
        cuts += cut?.rowCount ?? 0;
      }
    };
    const cutting = cutAll();
    const operations = await countAll(machines).finally(() => {
      isOver = true;
    });
    await cutting;
    expect(cuts).toBeGreaterThan(3);
    expect(contradictions(operations, await logOf(machines))).toEqual([]);
  });

  it('write nothing after the epoch of theirs has ended, whatever runs at that moment', async () => {
    const machines = await openMachines();
    const { stores, stages } = machines;
    const [first] = stores;
    const marker = stageId('fenced');
    const fence = async () => {
      await expect.poll(() => machines.heard.get(stores[0] as SharedStore)?.length).toBeGreaterThan(60);
      await first?.transact(async (tx) => {
        await tx.machines.register(machineId(3), machineReport(), LEASE_MS);
        await tx.emit({ type: 'transcript-appended', data: { stageId: marker, index: 1 } });
      });
    };
    const [operations] = await Promise.all([countAll(machines), fence()]);
    const log = await logOf(machines);
    const at = log.findIndex(({ counter }) => counter === marker);
    const ofThird = new Set<string>(stages[2]);
    expect(log.slice(0, at).some(({ counter }) => ofThird.has(counter))).toBe(true);
    expect(log.slice(at).filter(({ counter }) => ofThird.has(counter))).toEqual([]);
    expect(operations.some(({ stored }) => stored === null)).toBe(true);
    const fencing = { counter: marker, begun: 0, ended: Infinity, stored: { index: 1, saw: {} } };
    expect(contradictions([...operations, fencing], log)).toEqual([]);
  });

  it('tell nobody of a commit that others see before the standbys have it, and give its rows once they have', async () => {
    const server = await startPostgres();
    const { stores, stages, heard } = await openMachines(parseDatabaseUrl(await createDatabaseOn(server.address)), [1]);
    const [here, id] = [stores[0], stages[0]?.[0]];
    if (here === undefined || id === undefined) throw new Error('no machine');
    const before = heard.get(here)?.length ?? 0;
    const launchId = LaunchId.parse('L1');
    const taken: string[] = [];
    onTestFinished(here.onGiven(launchId, (rows) => taken.push(...rows.map(({ wireId }) => wireId))));
    const waitFor = async (names: string) => {
      await runSql(server.address, `alter system set synchronous_standby_names = '${names}'`);
      await runSql(server.address, 'select pg_reload_conf()');
      await until('it is set', async () => (await runSql(server.address, 'show synchronous_standby_names')) === names);
    };
    const activity = (select: string, where: string) =>
      runSql(
        server.address,
        `select ${select} from pg_stat_activity where application_name = 'callboard' and ${where}`,
      );
    const waiting = "wait_event = 'SyncRep'";
    onTestFinished(() => waitFor('')); // else nothing could end
    await waitFor('away');
    const giving = here.transact(
      async (tx) => {
        const row = { id: 'row', stageId: id, launchId, wireId: 'given', actor: null, createdAt: tx.now };
        await tx.outbox.insert({ ...row, state: 'accepted', body: answer() });
        return countStage(tx, id);
      },
      { stage: id },
    );
    giving.catch(() => undefined); // awaited below
    await until('it waits', async () => (await activity('count(*)', waiting)) === '1');
    const [first = '', from] = (await activity("pid || ' ' || extract(epoch from clock_timestamp())", waiting)).split(
      ' ',
    );
    await runSql(server.address, `select pg_terminate_backend(${first})`);
    const looks = `query like '%from "cluster_state"' and state = 'idle' and query_start > to_timestamp(${from})`;
    await until(
      'the next connection waits',
      async () => (await activity('count(*)', `${waiting} and pid <> ${first}`)) === '1',
    );
    await until('it has looked', async () => Number(await activity('count(*)', looks)) > 0);
    expect(heard.get(here)).toHaveLength(before);
    await waitFor('');
    expect(await giving).toMatchObject({ index: 1 });
    expect(taken).toEqual(['given']);
    expect(heard.get(here)?.slice(before)).toMatchObject([{ type: 'transcript-appended' }]);
  });

  it('keep a transaction from running beside others once it writes what all share, or is about a stage of another machine', async () => {
    const { stores, stages, link } = await openMachines();
    const [here] = stores;
    const [own, foreign] = [stages[0]?.[0], stages[1]?.[0]];
    if (here === undefined || own === undefined || foreign === undefined) throw new Error('no machines');
    const alone = async () => {
      const { rows } = await link.query({ text: 'select alone from cluster_state' });
      return rows;
    };
    const before = await alone();
    await here.transact((tx) => countStage(tx, own), { stage: own });
    expect(await alone()).toEqual(before);
    let runs = 0;
    await here.transact(
      async (tx) => {
        runs++;
        await countStage(tx, own);
        await tx.holds.save({ scope: {}, by: 'Ada', at: tx.now, except: [] }).catch(() => undefined);
      },
      { stage: own },
    );
    expect(runs).toBe(2);
    expect(await here.read.holds.list()).toMatchObject([{ by: 'Ada' }]);
    expect((await here.read.sessions.find(own))?.transcriptLength).toBe(2);
    const between = await alone();
    expect(between).not.toEqual(before);
    await here.transact((tx) => countStage(tx, foreign), { stage: foreign, batch: true });
    expect(await alone()).not.toEqual(between);
    expect((await here.read.sessions.find(foreign))?.transcriptLength).toBe(1);
  });

  it('ask the first thing together with the lock, and begin again if what they remember is outdated', async () => {
    const { stores, stages } = await openMachines();
    const [here, there] = stores;
    const own = stages[0]?.[0];
    if (here === undefined || there === undefined || own === undefined) throw new Error('no machines');
    const read = async (tx: Tx) => {
      await tx.requests.listOpenOf(own);
      return countStage(tx, own);
    };
    await here.transact(read, { stage: own }); // what it reads is cached from here on
    const asked: string[] = [];
    const hear = (mark: unknown) => {
      const { step, of } = z.object({ step: z.string(), of: z.string() }).safeParse(mark).data ?? {};
      if (
        step === 'database asked' &&
        of !== undefined &&
        /^(begin;|select \* from "requests"|update cluster_state)/.test(of)
      )
        asked.push(of);
    };
    subscribe('callboard:turn', hear);
    onTestFinished(() => void unsubscribe('callboard:turn', hear));
    await here.transact(read, { stage: own });
    expect(asked).toEqual([expect.stringContaining('begin;'), expect.stringContaining('update cluster_state')]);
    await there.transact((tx) => tx.holds.save({ scope: {}, by: '7', at: tx.now, except: [] }));
    let runs = 0;
    const { saw } = await here.transact(
      (tx) => {
        runs++;
        return read(tx);
      },
      { stage: own },
    );
    expect(runs).toBe(2);
    expect(saw).toEqual({ [SHARED]: 7, [own]: 2 });
  });
});
