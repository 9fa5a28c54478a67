import { expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../test-support/postgres.ts';
import type { StorageError } from '../../orchestrator/src/store/storage-error.ts';
import { createStoreDatabase } from '../../orchestrator/test/support/test-postgres.ts';
import { sampleProject, silent, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from './postgres-store.ts';

it.skipIf(postgresLack !== '')(
  `a write that gets no answer is told while it waits, and that it is over as well${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const address = await createStoreDatabase();
    const open = async () => {
      const store = await openPostgresStore({ address, platform: tickingPlatform(), log: silent });
      onTestFinished(store.close);
      return store;
    };
    const [waiting, holding] = [await open(), await open()];
    const reported: (StorageError | null)[] = [];
    waiting.onWrite((storageError) => reported.push(storageError));
    const [began, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held = holding.transact(async () => {
      began.resolve();
      await release.promise;
    });
    await began.promise;
    const written = waiting.transact((tx) => tx.projects.save(sampleProject()));
    await expect.poll(() => reported).toMatchObject([{ text: expect.stringContaining('has not answered for 5 s') }]);
    release.resolve();
    await Promise.all([held, written]);
    expect(reported.slice(1)).toEqual([null]);
  },
);
