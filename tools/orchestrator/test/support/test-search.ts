import { join } from 'node:path';
import { StageId, TranscriptEntry } from '@callboard/contract';
import { sampleProject, sampleStage } from '@callboard/contract/samples';
import type { DatabaseAddress } from '@callboard/runtime/database-url';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { openPostgresSearchIndex, openPostgresStore } from '../../../store-postgres/src/postgres-store.ts';
import { nodePlatform } from '../../src/platform/runtime.ts';
import { CommentRecord } from '../../src/store/records.ts';
import { type IndexQuery, parseTerms, type SearchIndex } from '../../src/store/search/search-text.ts';
import { openSqliteSearchIndex, openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createStoreDatabase } from './test-postgres.ts';
import { type StoreKind, silent } from './test-store.ts';

type Entry = { kind: string } & Record<string, unknown>;

/** An entry in which Claude says something. */
export const text = (words: string): Entry => ({ kind: 'text', text: words, blockId: 'b' });

/** The disk of the store's file is full while `isDiskFull`; of PostgreSQL, that of the server says so itself. */
interface Disk {
  isDiskFull: boolean;
}

/** Opens a store with one project, and an index of its words. Closes both when the test is over. */
export async function openTestSearch(kind: StoreKind) {
  return kind === 'SQLite' ? openOnSqlite() : openOnPostgres(await createStoreDatabase());
}

async function openOnSqlite() {
  const folder = await temporaryFolder();
  const files = { store: join(folder, 'store.sqlite'), index: join(folder, 'search.sqlite') };
  const disk: Disk = { isDiskFull: false };
  const store = await openSqliteStore(files.store, nodePlatform, silent);
  const open = () =>
    openSqliteSearchIndex({ files, store, log: silent, waitMs: 10, firstMs: 2_000, mayGrow: () => !disk.isDiskFull });
  await store.transact((tx) => tx.projects.save(sampleProject()));
  return { ...createTestSearch(store, open), files, disk, address: null };
}

/** Opens the store and its index as one more machine. */
export async function openOnPostgres(address: DatabaseAddress) {
  const store = await openPostgresStore({ address, platform: nodePlatform, log: silent });
  const open = () => openPostgresSearchIndex({ address, store, log: silent, waitMs: 10, firstMs: 2_000 });
  await store.transact((tx) => tx.projects.save(sampleProject()));
  return { ...createTestSearch(store, open), files: null, disk: null, address };
}

function createTestSearch(store: Store, open: () => SearchIndex) {
  let index = open();
  onTestFinished(async () => {
    await index.stop();
    await store.close();
  });
  let minute = 0;
  const nextInstant = () => new Date(2026, 1, 1, 0, minute++).toISOString();

  return {
    store,
    ...findingIn(() => index),
    /** Ends the index, so that what follows is done by the next one. */
    async openAgain(change: () => unknown = () => undefined): Promise<void> {
      await index.stop();
      await change();
      index = open();
    },
    async addStage(n: number, title: string, prompt = 'Do it'): Promise<StageId> {
      const id = StageId.parse(`STAGE-${n}`);
      const stage = sampleStage({ id, title, prompt, createdAt: new Date(2026, 0, n).toISOString() });
      await store.transact(async (tx) => {
        await tx.stages.insert(stage);
        await tx.emit({ type: 'stage-created', data: { stageId: id, stage } });
      });
      return id;
    },
    async say(stageId: StageId, first: number, ...entries: Entry[]): Promise<void> {
      await store.transact(async (tx) => {
        await tx.transcript.append(
          entries.map((entry, at) =>
            TranscriptEntry.parse({
              stageId,
              index: first + at,
              at: nextInstant(),
              parentToolUseId: null,
              ...entry,
            }),
          ),
        );
        await tx.emit({ type: 'transcript-appended', data: { stageId, index: first + entries.length - 1 } });
      });
    },
    async comment(stageId: StageId, id: string, fields: Partial<Record<keyof CommentRecord, unknown>> = {}) {
      const version = '1'.repeat(16);
      const record = CommentRecord.parse({
        id,
        stageId,
        author: 'Ada',
        path: 'src/app.ts',
        side: 'new',
        line: 3,
        endLine: 4,
        version,
        quote: 'x',
        origin: { line: 3, endLine: 4, version },
        text: 'Rename this',
        hasMoved: false,
        createdAt: nextInstant(),
        sentAt: null,
        sentBy: null,
        messageId: null,
        answeredAt: null,
        ...fields,
      });
      await store.transact(async (tx) => {
        await tx.comments.save(record);
        await tx.emit({ type: 'comments-updated', data: { stageId } });
      });
      return record;
    },
    async removeStage(id: StageId): Promise<void> {
      await store.transact(async (tx) => {
        await tx.stages.remove(id);
        await tx.emit({ type: 'stage-removed', data: { stageId: id } });
      });
    },
  };
}

function findingIn(index: () => SearchIndex) {
  const findNow = (q: string, more: Partial<IndexQuery> = {}) =>
    index().search({
      terms: parseTerms(q),
      stageIds: null,
      kind: undefined,
      by: undefined,
      since: undefined,
      before: undefined,
      person: 'Ada',
      limit: 20,
      ...more,
    });

  /** Asks until the index says that it is complete: of thousands of entries, on a busy machine, that takes longer than a search waits. */
  async function find(q: string, more: Partial<IndexQuery> = {}) {
    const until = performance.now() + 60_000;
    for (;;) {
      const reply = await findNow(q, more);
      if (reply.indexing === null) return reply;
      if (performance.now() > until) throw new Error(`the index is not complete: ${JSON.stringify(reply.indexing)}`);
    }
  }

  return {
    find,
    findNow,
    /** As the page does: nothing for a query without letters and digits. */
    search: async (q: string, more: Partial<IndexQuery> = {}) => (parseTerms(q).length === 0 ? null : find(q, more)),
    /** The places of the results: "STAGE-1 text 2". */
    places: async (q: string, more: Partial<IndexQuery> = {}) =>
      (await find(q, more)).results.map((one) =>
        [one.stageId, one.kind, one.index ?? one.comment?.id].filter(Boolean).join(' '),
      ),
  };
}
