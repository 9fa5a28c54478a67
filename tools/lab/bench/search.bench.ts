import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StageId, TranscriptEntry } from '@callboard/contract';
import { sampleProject, sampleStage } from '@callboard/contract/samples';
import { it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { nodePlatform } from '../../orchestrator/src/platform/runtime.ts';
import { parseTerms } from '../../orchestrator/src/store/search/search-text.ts';
import { openSqliteSearchIndex, openSqliteStore } from '../../orchestrator/src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../orchestrator/src/store/store.ts';
import { silent } from '../../orchestrator/test/support/test-store.ts';
import { percentile } from './measure.ts';
import { report } from './results.ts';

const STAGES = 200;
const ENTRIES = 100_000;
const TEXTS = 20_000;
const SYLLABLES = 'ba ke di lo mu sta pre ri no fa ge tu vi ho ca je pla wi zu ser'.split(' ');
/** One in every entry, one in some, rare ones, a phrase, beginnings, and two that never meet. */
const QUERIES = [
  ...[1, 9, 777, 19_999].map((n) => `${word(n)} `),
  ...[`"${word(1)} ${word(2)}"`, word(1).slice(0, 2), word(9).slice(0, 3), word(777).slice(0, 5)],
  ...[`${word(1)} ${word(4)} `, `${word(18_888)} ${word(777)} `],
];
const ROUNDS = 10;
const SCANS = 1;

it('measures searches of 100,000 entries beside a scan of their texts', { timeout: 600_000 }, async () => {
  const folder = await temporaryFolder();
  const files = { store: join(folder, 'store.sqlite'), index: join(folder, 'search.sqlite') };
  const store = await openSqliteStore(files.store, nodePlatform, silent);
  await fill(store);

  const index = openSqliteSearchIndex({ files, store, log: silent, mayGrow: () => true, waitMs: 10, firstMs: 2_000 });
  onTestFinished(async () => {
    await index.stop();
    await store.close();
  });
  const find = (q: string) => {
    const more = {
      stageIds: null,
      person: 'Ada',
      kind: undefined,
      by: undefined,
      since: undefined,
      before: undefined,
      limit: 20,
    };
    return index.search({ terms: parseTerms(q), ...more });
  };
  const buildMs = await timeOf(async () => {
    while ((await find(word(1))).indexing !== null);
  });

  const searches: number[] = [];
  for (let round = 0; round < ROUNDS; round++)
    for (const query of QUERIES) searches.push(await timeOf(() => find(query)));
  const scans = scansOf(files.store);
  const scanMs = percentile(scans, 0.95);
  report('search', [
    { name: `search of ${ENTRIES} entries, p50`, value: percentile(searches, 0.5), unit: 'ms' },
    { name: `search of ${ENTRIES} entries, p95`, value: percentile(searches, 0.95), unit: 'ms', atMost: 50 },
    { name: 'a scan of their texts, p95', value: scanMs, unit: 'ms' },
    { name: 'search beside a scan', value: scanMs / percentile(searches, 0.95), unit: 'x', atLeast: 10 },
    { name: 'the whole index is built', value: buildMs / 1_000, unit: 's' },
  ]);
});

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** The same words, without an index. */
function scansOf(file: string): number[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const scan = database.prepare(`select count(*) from transcript where document like '%' || ? || '%'`);
  const times: number[] = [];
  for (let round = 0; round < SCANS; round++) {
    for (const query of QUERIES) {
      const begun = performance.now();
      scan.get(query);
      times.push(performance.now() - begun);
    }
  }
  database.close();
  return times;
}

async function fill(store: Store): Promise<void> {
  await store.transact((tx) => tx.projects.save(sampleProject()));
  for (let n = 1; n <= STAGES; n++) {
    const stageId = StageId.parse(`STAGE-${n}`);
    await store.transact(async (tx) => {
      await tx.stages.insert(sampleStage({ id: stageId, title: `Stage ${n}`, prompt: words(n, 60) }));
      const entries = Array.from({ length: ENTRIES / STAGES }, (_, i) =>
        TranscriptEntry.parse({
          stageId,
          index: i + 1,
          at: new Date(Date.UTC(2026, 0, 1) + (n * 1_000 + i) * 1_000).toISOString(),
          parentToolUseId: null,
          kind: 'text',
          text: words(n * 1_000 + i, 20 + (i % 100)),
          blockId: 'b',
        }),
      );
      await tx.transcript.append(entries);
    });
  }
}

/** Some words come often and most of them seldom, as in a language; the same in every run. */
function words(seed: number, count: number): string {
  let state = seed * 2_654_435_761;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return Array.from({ length: count }, () => word(Math.floor(TEXTS ** next()))).join(' ');
}

/** A word for each number below 20 to the fourth power, in no order. */
function word(n: number): string {
  const scattered = (n * 7_919) % 160_000;
  return [0, 1, 2, 3].map((place) => SYLLABLES[Math.floor(scattered / 20 ** place) % 20]).join('');
}
