import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { LaunchId, RequestId, StageId } from '@callboard/contract';
import { sampleDecision, sampleProject, sampleRequest, sampleStage } from '@callboard/contract/samples';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { it, onTestFinished } from 'vitest';
import { findProgram } from '../../../scripts/debian.ts';
import { createDatabaseOn, type PostgresServer, postgresLack, startPostgres } from '../../../test-support/postgres.ts';
import { nodePlatform } from '../../orchestrator/src/platform/runtime.ts';
import type { Store } from '../../orchestrator/src/store/store.ts';
import { LEASE_MS, machineId, machineReport } from '../../orchestrator/test/support/test-machines.ts';
import { openTestStore, silent } from '../../orchestrator/test/support/test-store.ts';
import { createConnect, type PgLink } from '../../store-postgres/src/pg-link.ts';
import { openPostgresStore } from '../../store-postgres/src/postgres-store.ts';
import { percentile } from './measure.ts';
import { type Figure, report } from './results.ts';

const FOR_MS = 4_000;
/** How many decisions a machine has on the way at once. */
const AT_ONCE = 8;
/** As a person's server: what is committed is on its disk. */
const DURABLE = ['fsync = on', 'full_page_writes = on'];
const stageOf = (nth: number) => StageId.parse(`S${nth}`);
const LAUNCH = LaunchId.parse('launch-1');

it.skipIf(postgresLack !== '')(
  'measures decisions on SQLite and PostgreSQL, and two ways to keep them in order',
  async () => {
    const server = await startPostgres(onTestFinished, DURABLE);
    const figures: Figure[] = [];
    const onSqlite = await decisionsOn([(await openTestStore(nodePlatform, 'SQLite')).store]);
    figures.push(...figuresOf('SQLite', onSqlite));
    for (const count of [1, 2, 3]) {
      const address = parseDatabaseUrl(await createDatabaseOn(server.address));
      const stores: Store[] = [];
      for (let nth = 0; nth < count; nth++) {
        const store = await openPostgresStore({ address, platform: nodePlatform, log: silent });
        onTestFinished(store.close);
        const epoch = await store.transact((tx) => tx.machines.register(machineId(nth), machineReport(), LEASE_MS));
        store.fenceWith({ machineId: machineId(nth), epoch });
        stores.push(store);
      }
      figures.push(...figuresOf(`PostgreSQL, ${count} machines in one process`, await decisionsOn(stores)));
    }
    for (const count of [1, 2, 3]) figures.push(...(await pgbench(server, count)));
    for (const way of ['row lock', 'serializable'] as const)
      for (const count of [1, 2, 3]) figures.push(...(await commitsOf(server, way, count)));
    report('shared-store', figures);
  },
);

interface Measured {
  perSecond: number;
  ms: number[];
}

const figuresOf = (name: string, { perSecond, ms }: Measured): Figure[] => [
  { name: `decisions on ${name}`, value: perSecond, unit: '/s' },
  { name: `a decision on ${name}, ${AT_ONCE} at once for each`, value: percentile(ms, 0.5), unit: 'ms' },
  { name: `the slowest of twenty on ${name}`, value: percentile(ms, 0.95), unit: 'ms' },
];

/** A request comes, is decided, and its answer is given to the launch: the transactions of a permission turn in the store. */
async function decisionsOn(stores: readonly Store[]): Promise<Measured> {
  await stores[0]?.transact((tx) => tx.projects.save(sampleProject()));
  for (const [nth, store] of stores.entries())
    await store.transact((tx) => tx.stages.insert(sampleStage({ id: stageOf(nth), machineId: machineId(nth) })));
  const ms: number[] = [];
  let nth = 0;
  const until = performance.now() + FOR_MS;
  const decideAll = async (store: Store, stageId: StageId) => {
    while (performance.now() < until) {
      const from = performance.now();
      await decide(store, stageId, RequestId.parse(`r${nth++}`));
      ms.push(performance.now() - from);
    }
  };
  await Promise.all(
    stores.flatMap((store, at) => Array.from({ length: AT_ONCE }, () => decideAll(store, stageOf(at)))),
  );
  return { perSecond: (ms.length / FOR_MS) * 1_000, ms };
}

const decide = (store: Store, stageId: StageId, requestId: RequestId) =>
  store.transact(
    async (tx) => {
      const place = { stageId, requestId };
      await tx.requests.open(sampleRequest(place), LAUNCH);
      const decision = sampleDecision(place);
      await tx.requests.decide(decision);
      const row = {
        id: tx.newId(),
        stageId,
        launchId: LAUNCH,
        wireId: requestId,
        actor: 'Ada',
        createdAt: tx.now,
      };
      await tx.outbox.insert({ ...row, body: { kind: 'control', request: { subtype: 'interrupt' } } });
      await tx.emit({ type: 'decision-updated', data: decision });
    },
    { stage: stageId },
  );

/** PostgreSQL's own commits: each client updates rows and inserts one. */
async function pgbench({ address }: PostgresServer, clients: number): Promise<Figure[]> {
  const program = findProgram('pgbench');
  if (program === undefined) return [];
  const url = await createDatabaseOn(address);
  await promisify(execFile)(program, ['--initialize', '--quiet', url]);
  const args = ['--skip-some-updates', '--no-vacuum', `--client=${clients}`, `--time=${FOR_MS / 1_000}`, url];
  const { stdout } = await promisify(execFile)(program, args);
  const perSecond = Number(/tps = ([0-9.]+)/.exec(stdout)?.[1]);
  return [{ name: `commits of pgbench with ${clients} clients`, value: perSecond, unit: '/s' }];
}

/** The same read-modify-write of a number without gaps, by a lock of its row or by retries of serializable transactions. */
async function commitsOf(server: PostgresServer, way: 'row lock' | 'serializable', writers: number): Promise<Figure[]> {
  const connect = createConnect(parseDatabaseUrl(await createDatabaseOn(server.address)));
  const links = await Promise.all(Array.from({ length: writers }, () => connect()));
  onTestFinished(async () => void (await Promise.all(links.map((link) => link.end()))));
  await links[0]?.queryAll(
    'create table numbers (id int primary key, n bigint); insert into numbers values (1, 0); create table rows (n bigint, text text)',
  );
  let commits = 0;
  let retries = 0;
  const until = performance.now() + FOR_MS;
  const write = async (link: PgLink) => {
    while (performance.now() < until) {
      try {
        await link.queryAll(
          way === 'row lock'
            ? 'begin; select n from numbers where id = 1 for update'
            : 'begin isolation level serializable; select n from numbers where id = 1',
        );
        for (let nth = 0; nth < 3; nth++)
          await link.query({ text: `insert into rows values ($1, 'x')`, values: [nth] });
        await link.queryAll('update numbers set n = n + 1 where id = 1; commit');
        commits++;
      } catch {
        retries++;
        await link.queryAll('rollback');
      }
    }
  };
  await Promise.all(links.map(write));
  const name = `${way}, ${writers} writers`;
  return [
    { name: `commits with ${name}`, value: (commits / FOR_MS) * 1_000, unit: '/s' },
    { name: `retries for a commit with ${name}`, value: retries / Math.max(commits, 1), unit: 'x' },
  ];
}
