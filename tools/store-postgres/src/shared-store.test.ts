import { setTimeout as wait } from 'node:timers/promises';
import type { BoardEvent } from '@callboard/contract';
import type { SharedStore } from '@callboard/orchestrator/store';
import { type DatabaseAddress, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDatabaseOn, postgresLack, runSql, startPostgres } from '../../../test-support/postgres.ts';
import { until } from '../../../test-support/until.ts';
import type { StorageError } from '../../orchestrator/src/store/storage-error.ts';
import type { Store } from '../../orchestrator/src/store/store.ts';
import { startCommitCutter } from '../../orchestrator/test/support/commit-cutter.ts';
import { createStoreDatabase } from '../../orchestrator/test/support/test-postgres.ts';
import { busyTestSession } from '../../orchestrator/test/support/test-session.ts';
import {
  openTestStore,
  sampleProject,
  sampleStage,
  silent,
  stageId,
  tickingPlatform,
} from '../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from './postgres-store.ts';

const STAGE = stageId('S1');
const note = (index: number) => ({ type: 'transcript-appended' as const, data: { stageId: STAGE, index } });
const test = it.skipIf(postgresLack !== '');

interface Machine {
  store: SharedStore;
  events: BoardEvent[];
}

async function machinesOn(address: DatabaseAddress, count: number): Promise<Machine[]> {
  const machines: Machine[] = [];
  for (let nth = 0; nth < count; nth++) {
    const store = await openPostgresStore({ address, platform: tickingPlatform(), log: silent });
    onTestFinished(store.close);
    const events: BoardEvent[] = [];
    store.onEvent((event) => events.push(event));
    machines.push({ store, events });
  }
  return machines;
}

const seqsOf = ({ events }: Machine) => events.map(({ seq }) => seq);
const upTo = (last: number, from = 1) => Array.from({ length: last - from + 1 }, (_, at) => from + at);

/** Adds a stage, and returns how to count up in its title: a read, a pause, and a write. */
async function counterIn(store: Store): Promise<(by: Store) => Promise<void>> {
  await store.transact(async (tx) => {
    await tx.projects.save(sampleProject());
    await tx.stages.insert(sampleStage({ id: STAGE, title: '0' }));
  });
  return (by) =>
    by.transact(async (tx) => {
      const stage = await tx.stages.find(STAGE);
      if (stage === null) throw new Error('no stage');
      const next = Number(stage.title) + 1;
      await tx.stages.update({ ...stage, title: `${next}` });
      await tx.emit(note(next));
    });
}

const countOf = async (store: Store) => Number((await store.read.stages.find(STAGE))?.title);

describe('several machines on one database', () => {
  test('lose no update, number events without gaps, and hear each once and in order', async () => {
    const machines = await machinesOn(await createStoreDatabase(), 3);
    const count = await counterIn(machines[0]?.store ?? expect.fail());
    await Promise.all(machines.flatMap(({ store }) => Array.from({ length: 40 }, () => count(store))));
    await until('all have heard everything', () => machines.every(({ events }) => events.length >= 120));
    for (const machine of machines) {
      expect(await countOf(machine.store)).toBe(120);
      expect(seqsOf(machine)).toEqual(upTo(120));
      expect(machine.events.map(({ data }) => 'index' in data && data.index)).toEqual(upTo(120));
      expect(machine.events.map(({ type, seq, data }) => ({ type, seq, data }))).toEqual(
        machines[0]?.events.map(({ type, seq, data }) => ({ type, seq, data })),
      );
    }
  });

  test('see what another one has written to a session', async () => {
    const here = await openTestStore(undefined, 'PostgreSQL');
    const session = await busyTestSession({}, here);
    const there = await here.openAgain();
    onTestFinished(there.close);
    const record = await session.record();
    for (const mode of ['plan', 'acceptEdits', 'default']) {
      await there.transact(async (tx) => {
        const found = await tx.sessions.find(session.stageId);
        if (found !== null) await tx.sessions.save({ ...found, mode });
      });
      expect(await here.store.transact((tx) => tx.sessions.find(session.stageId))).toEqual({ ...record, mode });
    }
  });

  test('pass rows to the launch on another machine, once and in order', async () => {
    const here = await openTestStore(undefined, 'PostgreSQL');
    const session = await busyTestSession({}, here);
    const there = await here.openAgain();
    onTestFinished(there.close);
    const taken: string[] = [];
    here.store.onGiven(session.launchId(), (rows) => taken.push(...rows.map(({ wireId }) => wireId)));
    const give = (store: Store, wireId: string) =>
      store.transact(async (tx) => {
        const row = { id: here.platform.newId(), stageId: session.stageId, launchId: session.launchId(), wireId };
        const control = { kind: 'control' as const, request: { subtype: 'interrupt' as const } };
        await tx.outbox.insert({ ...row, actor: null, createdAt: tx.now, body: control });
      });
    const names = upTo(40).map((nth) => `c${nth}`);
    for (const [nth, name] of names.entries()) await give(nth % 3 === 0 ? here.store : there, name);
    await until('all rows have come', () => taken.length >= names.length);
    await there.transact((tx) => tx.emit(note(1)));
    await until('a later commit has come', () => here.events.some(({ type }) => type === 'transcript-appended'));
    expect(taken).toEqual(names);
  });

  test('a row that was listed for its launch does not come again as news', async () => {
    const here = await openTestStore(undefined, 'PostgreSQL');
    const session = await busyTestSession({}, here);
    const there = await here.openAgain();
    onTestFinished(there.close);
    const taken: string[] = [];
    here.store.onGiven(session.launchId(), (rows) => taken.push(...rows.map(({ wireId }) => wireId)));
    for (let nth = 1; nth <= 20; nth++) {
      const wireId = `c${nth}`;
      const giving = there.transact(async (tx) => {
        const row = { id: here.platform.newId(), stageId: session.stageId, launchId: session.launchId(), wireId };
        const control = { kind: 'control' as const, request: { subtype: 'interrupt' as const } };
        await tx.outbox.insert({ ...row, actor: null, createdAt: tx.now, body: control });
      });
      const listed = new Set<string>();
      await until(`row ${nth} is known`, async () => {
        for (const row of await here.store.read.outbox.listOf(session.launchId(), ['accepted'])) listed.add(row.wireId);
        return listed.has(wireId) || taken.includes(wireId);
      });
      await giving;
    }
    await here.store.transact((tx) => tx.emit(note(1)));
    expect(new Set(taken).size).toBe(taken.length);
  });

  test('a machine with an old epoch is refused, and nothing is stored', async () => {
    const [machine] = await machinesOn(await createStoreDatabase(), 1);
    const { store } = machine ?? expect.fail();
    const count = await counterIn(store);
    store.fenceWith({ machineId: 'nobody', epoch: 1 });
    await expect(count(store)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await countOf(store)).toBe(0);
  });

  test('whose schema is older than the database refuse to write', async () => {
    const address = await createStoreDatabase();
    const [machine] = await machinesOn(address, 1);
    const { store } = machine ?? expect.fail();
    const count = await counterIn(store);
    await raiseVersion(store);
    await expect(count(store)).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringContaining('newer'),
    });
    // Looking whether it can write again does not say so either: the page would show and hide its notice for ever.
    const reported: (StorageError | null)[] = [];
    onTestFinished(store.onWrite((storageError) => void reported.push(storageError)));
    await expect(store.probe()).rejects.toMatchObject({ code: 'storage_failed' });
    expect(reported).toMatchObject([{ isLasting: true, text: expect.stringContaining('start it') }]);
    await expect(machinesOn(address, 1)).rejects.toMatchObject({ code: 'database_newer' });
  });
});

/** As a newer Callboard leaves it. */
async function raiseVersion(store: Store): Promise<void> {
  await store.transact(async (tx) => {
    const db = Reflect.get(tx, 'db');
    await db.updateTable('cluster_state').set({ version: 9_999 }).execute();
  });
}

describe('bad days of the database', () => {
  test('connections that are cut during commits tell the truth, and everything continues', async () => {
    const server = await startPostgres();
    const address = parseDatabaseUrl(await createDatabaseOn(server.address));
    const machines = await machinesOn(address, 2);
    const count = await counterIn(machines[0]?.store ?? expect.fail());
    const isOver = new AbortController();
    const cutting = (async () => {
      while (!isOver.signal.aborted) {
        const cut = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'callboard' and random() < 0.5`;
        await runSql(server.address, cut).catch(() => undefined);
        await wait(30);
      }
    })();
    let stored = 0;
    const write = async (store: Store) => {
      for (let nth = 0; nth < 60; nth++) {
        await count(store).then(
          () => stored++,
          (error: unknown) => expect(error).toMatchObject({ code: 'storage_failed' }),
        );
      }
    };
    await Promise.all(machines.map(({ store }) => write(store)));
    isOver.abort();
    await cutting;
    for (const { store } of machines)
      await until('it writes again', () =>
        count(store).then(
          () => true,
          () => false,
        ),
      );
    const total = stored + 2;
    await until('all have heard everything', () => machines.every(({ events }) => events.length >= total));
    for (const machine of machines) {
      expect(await countOf(machine.store)).toBe(total);
      expect(seqsOf(machine)).toEqual(upTo(total));
    }
    expect(stored).toBeGreaterThan(0);
  });

  test.each(['before', 'after'] as const)('a connection that is cut %s the server has committed', async (moment) => {
    const address = await createStoreDatabase();
    const proxy = await startCommitCutter(address);
    const [other] = await machinesOn(address, 1);
    const [machine] = await machinesOn(proxy.address, 1);
    if (other === undefined || machine === undefined) throw new Error('no stores');
    const count = await counterIn(machine.store);
    for (let nth = 1; nth <= 5; nth++) {
      proxy.cutNext(moment);
      const hints: string[] = [];
      const writing = machine.store.transact(async (tx) => {
        tx.afterCommit(() => hints.push('told'));
        await tx.emit(note(nth));
        return 'done';
      });
      if (moment === 'after') expect(await writing).toBe('done');
      else await expect(writing).rejects.toMatchObject({ code: 'storage_failed' });
      expect(hints).toEqual(moment === 'after' ? ['told'] : []);
      await until('it writes again', () =>
        count(other.store).then(
          () => true,
          () => false,
        ),
      );
    }
    const total = moment === 'after' ? 10 : 5;
    for (const each of [machine, other]) {
      await until('all have heard everything', () => each.events.length >= total);
      expect(seqsOf(each)).toEqual(upTo(total));
    }
  });

  test.each(['fast', 'immediate'] as const)(
    'a server that stops (%s) and starts again: no number has two events',
    async (how) => {
      const server = await startPostgres();
      const address = parseDatabaseUrl(await createDatabaseOn(server.address));
      const machines = await machinesOn(address, 2);
      const [first, second] = machines.map(({ store }) => store);
      if (first === undefined || second === undefined) throw new Error('no stores');
      const count = await counterIn(first);
      for (const store of [first, second, first]) await count(store);
      await until('all have heard', () => machines.every(({ events }) => events.length === 3));
      const storageErrors: (string | undefined)[] = [];
      first.onWrite((storageError) => storageErrors.push(storageError?.text));
      await server.stop(how);
      await expect(count(first)).rejects.toMatchObject({ code: 'storage_failed' });
      await expect(first.read.stages.list()).rejects.toThrow();
      expect(storageErrors.at(-1)).toContain('the database');
      await server.start();
      for (const store of [first, second])
        await until('it writes again', () =>
          count(store).then(
            () => true,
            () => false,
          ),
        );
      await until('all have heard', () => machines.every(({ events }) => events.length === 5));
      expect(storageErrors.at(-1)).toBeUndefined();
      const [skipped = 0] = seqsOf(machines[0] ?? expect.fail()).slice(3);
      expect(skipped).toBeGreaterThan(1_000_000_000);
      for (const machine of machines) expect(seqsOf(machine)).toEqual([1, 2, 3, skipped, skipped + 1]);
      expect(await countOf(first)).toBe(5);
    },
  );
});
