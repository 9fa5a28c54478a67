import { StageId } from '@callboard/contract';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { pino } from 'pino';
import { nodePlatform } from '../../../orchestrator/src/platform/runtime.ts';
import { openPostgresStore } from '../../src/postgres-store.ts';

/** Counts up in the titles of two stages, in one transaction each time, until it is killed. Prints each number that is stored. */
const address = parseDatabaseUrl(process.env.CALLBOARD_DATABASE_URL ?? '');
const store = await openPostgresStore({ address, platform: nodePlatform, log: pino({ level: 'silent' }) });
for (;;) {
  const count = await store.transact(async (tx) => {
    let last = 0;
    for (const id of ['S1', 'S2']) {
      const stage = await tx.stages.find(StageId.parse(id));
      if (stage === null) throw new Error(`no stage ${id}`);
      last = Number(stage.title) + 1;
      await tx.stages.update({ ...stage, title: `${last}` });
    }
    await tx.emit({ type: 'transcript-appended', data: { stageId: StageId.parse('S1'), index: last } });
    return last;
  });
  process.stdout.write(`${count}\n`);
}
