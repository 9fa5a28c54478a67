import { expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../test-support/postgres.ts';
import { until } from '../../../test-support/until.ts';
import { createStoreDatabase } from '../../orchestrator/test/support/test-postgres.ts';
import { silent, stageId, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { CHANNEL, SKIPPED } from './commits.ts';
import { createConnect } from './pg-link.ts';
import { openPostgresStore } from './postgres-store.ts';

const note = { type: 'transcript-appended' as const, data: { stageId: stageId('S1'), index: 1 } };

it.skipIf(postgresLack !== '')(
  `a new epoch is told once its events can be read, also if they could not at first${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const address = await createStoreDatabase();
    const tries: string[] = [];
    const log = { ...silent, debug: (...said: unknown[]) => void tries.push(JSON.stringify(said)) };
    const open = async (logger = silent) => {
      const store = await openPostgresStore({ address, platform: tickingPlatform(), log: logger });
      onTestFinished(store.close);
      return store;
    };
    const [here, there] = [await open(log), await open()];
    let epochs = 0;
    onTestFinished(here.onEpoch(() => epochs++));
    await there.transact((tx) => tx.emit(note));

    const link = await createConnect(address)();
    onTestFinished(link.end);
    await link.queryAll(`begin; alter table events rename to events_away;
      update cluster_state set "commit" = "commit" + ${SKIPPED}, seq = seq + ${SKIPPED};
      select pg_notify('${CHANNEL}', '0'); commit`);
    await until('a look has failed', () => tries.some((said) => said.includes('no look at the commits of others')));
    expect(epochs).toBe(0);

    await link.queryAll('alter table events_away rename to events');
    await there.transact((tx) => tx.emit(note));
    await expect.poll(() => epochs).toBe(1);
    await there.transact((tx) => tx.emit(note));
    await until('it is passed on', async () => (await here.read.events.lastSeq()) === SKIPPED + 3);
    expect(epochs).toBe(1);
  },
);
