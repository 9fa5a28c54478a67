import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabase, postgresLack } from '../../../test-support/postgres.ts';
import {
  sampleProject,
  sampleStage,
  silent,
  stageId,
  tickingPlatform,
} from '../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from './postgres-store.ts';

const WRITER = join(import.meta.dirname, '../test/support/shared-writer-main.ts');
/** After how many of its commits it is killed, and how much later: somewhere between two statements. */
const KILLS = [0, 1, 2, 3, 4].map((nth) => ({ after: 2 + nth, laterMs: nth }));

it.skipIf(postgresLack !== '')(
  'a writer that is killed leaves nothing half, and the lock is free at once',
  async () => {
    const url = await createDatabase();
    const store = await openPostgresStore({ address: parseDatabaseUrl(url), platform: tickingPlatform(), log: silent });
    onTestFinished(store.close);
    await store.transact(async (tx) => {
      await tx.projects.save(sampleProject());
      for (const id of ['S1', 'S2']) await tx.stages.insert(sampleStage({ id, title: '0' }));
    });
    for (const { after, laterMs } of KILLS) {
      const printed = await runAndKill(url, after, laterMs);
      const titles = await store.transact(async (tx) => (await tx.stages.list()).map(({ title }) => Number(title)));
      expect(titles[0]).toBe(titles[1]);
      expect(titles[0]).toBeGreaterThanOrEqual(printed); // a commit may be stored and not printed
      expect(titles[0]).toBeLessThanOrEqual(printed + 1);
      expect(await store.read.events.lastSeq()).toBe(titles[0]);
    }
    expect((await store.read.stages.find(stageId('S1')))?.title).not.toBe('0');
  },
);

/** Resolves with the last number that it said was stored. */
async function runAndKill(url: string, after: number, laterMs: number): Promise<number> {
  const env = { PATH: process.env.PATH, CALLBOARD_DATABASE_URL: url };
  const child = spawn(process.execPath, [WRITER], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close'); // with all that it has printed
  let text = '';
  let isDue = false;
  child.stdout.on('data', (data) => {
    text += data;
    if (isDue || text.split('\n').length <= after) return;
    isDue = true;
    setTimeout(() => child.kill('SIGKILL'), laterMs);
  });
  await closed;
  return Number(text.trim().split('\n').at(-1));
}
