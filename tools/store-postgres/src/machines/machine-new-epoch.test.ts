import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  createDatabaseOn,
  type PostgresServer,
  postgresLack,
  startPostgres,
} from '../../../../test-support/postgres.ts';
import { until } from '../../../../test-support/until.ts';
import { createLogins } from '../../../orchestrator/src/core/commands/logins.ts';
import type { Store } from '../../../orchestrator/src/store/store.ts';
import { startDatabaseProxy } from '../../../orchestrator/test/support/database-proxy.ts';
import { joinTestStore } from '../../../orchestrator/test/support/test-machines.ts';
import {
  sampleProject,
  sampleStage,
  silent,
  stageId,
  tickingPlatform,
} from '../../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from '../postgres-store.ts';

const STAGE = stageId('S1');
const project = sampleProject();

/** Two machines on one server; the second one can be cut off. */
async function twoMachines(server: PostgresServer) {
  const address = parseDatabaseUrl(await createDatabaseOn(server.address));
  const proxy = await startDatabaseProxy(address);
  const open = async (to: typeof address) => {
    const store = await openPostgresStore({ address: to, platform: tickingPlatform(), log: silent });
    onTestFinished(store.close);
    return store;
  };
  const near = await open(address);
  await near.transact(async (tx) => {
    await tx.projects.save(project);
    await tx.stages.insert(sampleStage({ id: STAGE }));
  });
  const far = await open(proxy.address);
  const loginsOn = (store: Store) =>
    createLogins({ store, platform: tickingPlatform(), ownerName: 'Ada', tokenSha256: '', publicUrl: null });
  return {
    proxy,
    near: await joinTestStore(near, 1),
    far: await joinTestStore(far, 2),
    logins: { near: await loginsOn(near), far: await loginsOn(far) },
    /** Starts the server again, and waits until the first machine has begun a new epoch: the events before are gone then. */
    async startAgain() {
      await server.stop('fast');
      await server.start();
      const touch = () => near.transact((tx) => tx.emit({ type: 'holds-updated', data: { holds: [] } }));
      await until('the first machine writes again', () =>
        touch().then(
          () => true,
          () => false,
        ),
      );
    },
  };
}

const claim = (store: Store, here: Awaited<ReturnType<typeof joinTestStore>>['here']) =>
  store.transact(async (tx) => {
    const stage = (await tx.stages.find(STAGE)) ?? expect.fail();
    await tx.stages.claim(STAGE, here);
    await tx.emit({ type: 'stage-updated', data: { stageId: STAGE, stage: { ...stage, machineId: here } } });
  });

describe.skipIf(postgresLack !== '')(
  `a machine that was cut off while the database was started again${postgresLack && ` (${postgresLack})`}`,
  () => {
    const ends: (() => void | Promise<void>)[] = [];
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres((end) => void ends.push(end));
    });
    afterAll(async () => {
      for (const end of ends.toReversed()) await end();
    });

    it('knows which machine has a stage and a project, before its services look again', async () => {
      const { near, far, proxy, startAgain } = await twoMachines(server);
      const known: unknown[] = [];
      far.own.onEpoch(() => known.push([far.ownership.ownerOf(STAGE), far.places.of(near.here)]));
      proxy.cut();
      await claim(near.all, near.here);
      await near.all.transact((tx) => near.places.add(tx, project, null));
      await startAgain();
      expect(far.ownership.ownerOf(STAGE)).toBeNull();
      proxy.repair();
      await expect.poll(() => known, { timeout: 20_000 }).toEqual([[near.here, [project.id]]]);
    });

    it('forgets what a stage lost meanwhile', async () => {
      const { near, far, proxy, startAgain } = await twoMachines(server);
      await claim(near.all, near.here);
      await until('the other machine knows it', () => far.ownership.ownerOf(STAGE) === near.here);
      proxy.cut();
      await near.all.transact((tx) => tx.stages.releaseOf(near.here));
      await startAgain();
      proxy.repair();
      await expect.poll(() => far.ownership.ownerOf(STAGE), { timeout: 20_000 }).toBeNull();
    });

    it('takes no login that was ended meanwhile, and still those that were not', async () => {
      const { logins, far, proxy, startAgain } = await twoMachines(server);
      const [ended, saved] = [await logins.near.createTerminal('desk'), await logins.near.createTerminal('laptop')];
      const metrics = await logins.near.createMetricsToken('Ada');
      const revoked = await logins.near.createMetricsToken('Ben');
      const check = async (secret: string) => {
        const credential = { kind: 'token', secret } as const;
        await logins.far.lookUp(credential);
        return logins.far.check(credential).actor.name;
      };
      expect(await check(ended)).toBe('Ada');
      for (const token of [metrics, revoked]) await logins.far.requireMetricsToken(token);
      let epochs = 0;
      far.all.onEpoch(() => epochs++);
      proxy.cut();
      const desk = (await logins.near.list()).find(({ browser }) => browser === 'desk') ?? expect.fail();
      await logins.near.end(desk.loginId, 'Ada');
      const ofBen = (await logins.near.list()).find(({ name }) => name === 'Ben') ?? expect.fail();
      await logins.near.end(ofBen.loginId, 'Ada');
      await startAgain();
      proxy.repair();
      await expect.poll(() => epochs, { timeout: 20_000 }).toBe(1);
      await expect(check(ended)).rejects.toMatchObject({ code: 'not_logged_in' });
      expect(await check(saved)).toBe('Ada');
      await logins.far.requireMetricsToken(metrics);
      await expect(logins.far.requireMetricsToken(revoked)).rejects.toMatchObject({ code: 'not_logged_in' });
    });
  },
);
