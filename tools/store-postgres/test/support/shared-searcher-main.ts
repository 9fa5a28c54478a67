import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { pino } from 'pino';
import { nodePlatform } from '../../../orchestrator/src/platform/runtime.ts';
import { openPostgresSearchIndex, openPostgresStore } from '../../src/postgres-store.ts';

/** A machine that searches for the word given until it is killed. Prints how many entries were indexed at each search. */
const address = parseDatabaseUrl(process.env.CALLBOARD_DATABASE_URL ?? '');
const log = pino({ level: 'silent' });
const store = await openPostgresStore({ address, platform: nodePlatform, log });
const index = openPostgresSearchIndex({ address, store, log, waitMs: 10, firstMs: 2_000 });
const terms = [{ words: [process.argv[2] ?? ''], isPrefix: false }];
const unfiltered = { stageIds: null, kind: undefined, by: undefined, since: undefined, before: undefined };
for (;;) {
  const { indexing } = await index.search({ terms, ...unfiltered, person: 'Ada', limit: 1 });
  process.stdout.write(`${indexing?.done ?? 'all'}\n`);
}
