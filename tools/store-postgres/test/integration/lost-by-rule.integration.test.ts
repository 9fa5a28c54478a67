import { ProjectId } from '@callboard/contract';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { isAlive } from '@callboard/runtime/process-identity';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabase, postgresLack } from '../../../../test-support/postgres.ts';
import { until } from '../../../../test-support/until.ts';
import { requireProject } from '../../../orchestrator/src/store/store.ts';
import { createCluster } from '../../../orchestrator/test/support/cluster.ts';
import { startDatabaseProxy } from '../../../orchestrator/test/support/database-proxy.ts';
import type { Kit } from '../../../orchestrator/test/support/kit.ts';
import { livingProcess } from '../../../orchestrator/test/support/living-process.ts';
import { silent, tickingPlatform } from '../../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from '../../src/postgres-store.ts';

const leave = { name: 'Bash', input: { command: 'touch left', description: 'Leave a mark' } };
const asks = () => prompt({ steps: [{ tools: [leave] }, { text: 'Done.' }] });
const machinesOf = async ({ client }: Kit) => (await client.command('get_machines')).machines;

/** The network between a machine and the database. */
async function cutOffable(databaseUrl: string) {
  const proxy = await startDatabaseProxy(parseDatabaseUrl(databaseUrl));
  const [near] = proxy.address.hosts;
  const through = new URL(databaseUrl);
  through.host = `${near?.host}:${near?.port}`;
  return { proxy, through: through.href };
}

const SLOW = { withinMs: 60_000 };

it.skipIf(postgresLack !== '')(
  `ends the sessions of a machine that is cut off, and the rule of their project declares it lost${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const databaseUrl = await createDatabase();
    const { proxy, through } = await cutOffable(databaseUrl);
    const cluster = await createCluster(databaseUrl);
    const desk = await cluster.join('desk');
    const attic = await cluster.join('attic', {
      machine: { databaseUrl: through, name: 'attic' },
      endSessionsAfterMinutes: 0.1,
    });
    const { client } = desk;
    const stageId = await desk.startStage(asks(), { machine: 'attic' });
    const first = await client.event('approval-requested', (data) => data.stageId === stageId);
    const before = await livingProcess(attic, stageId);

    // Without a rule, nobody takes its stages.
    proxy.cut();
    await until('the session has ended without the database', async () => !(await isAlive(before)), SLOW);
    proxy.repair();
    await client.event('approval-resolved', ({ requestId }) => requestId === first.requestId, SLOW);
    await client.state(stageId, 'ended', SLOW);
    expect(JSON.stringify(await client.transcript(stageId))).toContain(
      'Callboard ended it: this machine had not reached the database for',
    );
    // What it had to say may be there before its lease is renewed.
    await until('it is connected', async () => (await machinesOf(desk))[1]?.state === 'connected', SLOW);

    // The API takes minutes only.
    const store = await openPostgresStore({
      address: parseDatabaseUrl(databaseUrl),
      platform: tickingPlatform(),
      log: silent,
    });
    onTestFinished(store.close);
    const project = await requireProject(store.read, ProjectId.parse('shop'));
    const settings = { ...project.settings, declareLostAfterMs: 12_000 };
    await store.transact((tx) => tx.projects.save({ ...project, settings }));
    await client.command('send_message', { stageId, message: asks() });
    const second = await client.event('approval-requested', ({ requestId }) => requestId !== first.requestId, SLOW);
    const again = await livingProcess(attic, stageId);
    proxy.cut();
    await client.event('approval-resolved', ({ requestId }) => requestId === second.requestId, SLOW);
    expect(await isAlive(again)).toBe(false); // before others may act
    const { stage } = await client.command('get_stage', { stageId });
    expect(stage).toMatchObject({ machineId: null, lost: { machine: 'attic', by: 'the rule of shop' } });
    expect(stage.session).toMatchObject({ state: 'ended', lastTurn: { outcome: 'interrupted' } });
    proxy.repair();
    await attic.stop();
    await attic.start();
    await until('the machine is back', async () => (await machinesOf(desk))[1]?.state === 'connected', SLOW);
  },
);

it.skipIf(postgresLack !== '')(
  'ends them also where the orchestrator ended and cannot start without the database',
  async () => {
    const { proxy, through } = await cutOffable(await createDatabase());
    const cluster = await createCluster(through);
    const attic = await cluster.join('attic', { endSessionsAfterMinutes: 0.1 });
    const stageId = await attic.startStage(asks());
    await attic.client.event('approval-requested', (data) => data.stageId === stageId);
    const session = await livingProcess(attic, stageId);
    proxy.cut();
    await attic.stop();
    await expect(attic.start()).rejects.toMatchObject({ code: 'storage_failed' });
    await until(
      'the session has ended',
      async () => {
        await attic.start().catch(() => undefined); // as the supervisor does
        return !(await isAlive(session));
      },
      SLOW,
    );
    proxy.repair();
    await attic.start();
    await attic.client.state(stageId, 'ended', SLOW);
    expect(JSON.stringify(await attic.client.transcript(stageId))).toContain('Callboard ended it: ');
  },
);
