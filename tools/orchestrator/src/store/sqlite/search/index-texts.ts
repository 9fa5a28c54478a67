import type { Indexing, Stage, StageId, TranscriptEntry } from '@callboard/contract';
import type { CommentRecord } from '../../records.ts';
import { itemsOfEntries, textsOfStage } from '../../search/stage-texts.ts';
import { createIndexRows, type IndexRows } from './index-rows.ts';
import type { Queries } from './search-files.ts';

interface StoredStage {
  ordinal: number;
  id: StageId;
  document: string;
}

/** What a stage has in the store and not in the index. */
interface Behind {
  id: StageId;
  /** The index of its last entry. */
  total: number;
}

export interface IndexTexts {
  /** Looks what the store has that the index lacks: of these stages, or of all. */
  check(stageIds: readonly StageId[] | null): void;
  /** Indexes until nothing is left, or for about that long. */
  work(forMs: number): void;
  /** Null: nothing is left. */
  progress(): Indexing | null;
}

/** Entries read at once, and about how many bytes of them. */
const ROWS = 1_000;
const BYTES = 1024 * 1024;

/** Copies words from the store into the index, in small transactions: the newest stages first, each from its oldest entry on. */
export function createIndexTexts(store: Queries, index: Queries): IndexTexts {
  const rows = createIndexRows(index);
  /** By ordinal: unlike an id, none is ever used twice. */
  const behind = new Map<number, Behind>();

  function inspect({ ordinal, id, document }: StoredStage): void {
    const texts = textsOfStage(JSON.parse(document) as Stage, commentsOf(store, id)); // written with its schema
    if (rows.stage(ordinal)?.texts !== texts.signature) rows.replaceTexts(ordinal, id, texts);
    const total = lastEntry(store, id);
    if (total > (rows.stage(ordinal)?.done ?? 0)) behind.set(ordinal, { id, total });
  }

  function forget(ordinal: number): void {
    behind.delete(ordinal);
    rows.forget(ordinal);
  }

  return {
    check(stageIds) {
      const stored = storedStages(store, stageIds);
      const there = new Set(stored.map(({ ordinal }) => ordinal));
      for (const { ordinal } of rows.stages(stageIds)) if (!there.has(ordinal)) forget(ordinal);
      for (const stage of stored) {
        if (stageIds === null && !isStillTrue(store, rows, stage)) forget(stage.ordinal);
        inspect(stage);
      }
    },
    work(forMs) {
      const until = performance.now() + forMs;
      for (const [ordinal, stage] of [...behind].toSorted(([a], [b]) => b - a)) {
        while (behind.has(ordinal)) {
          if (indexSome(store, rows, ordinal, stage)) behind.delete(ordinal);
          if (performance.now() >= until) return;
        }
      }
    },
    progress() {
      if (behind.size === 0) return null;
      const left = [...behind].reduce((sum, [ordinal, { total }]) => sum + total - (rows.stage(ordinal)?.done ?? 0), 0);
      const done = rows.done();
      return { done, total: done + Math.max(left, 1) };
    },
  };
}

/** The newest first. */
const storedStages = (store: Queries, ids: readonly StageId[] | null): StoredStage[] =>
  ids === null
    ? store.all<StoredStage>('select ordinal, id, document from stages order by ordinal desc')
    : store.all<StoredStage>(
        'select ordinal, id, document from stages where id in (select value from json_each(?)) order by ordinal desc',
        JSON.stringify(ids),
      );

const lastEntry = (store: Queries, id: StageId): number =>
  store.get<{ last: number | null }>('select max("index") as last from transcript where stage_id = ?', id)?.last ?? 0;

/** A store that lost its end in a power cut, or was replaced, may have other entries than those that were indexed. */
function isStillTrue(store: Queries, rows: IndexRows, { ordinal, id }: StoredStage): boolean {
  const { done = 0, last_at = null } = rows.stage(ordinal) ?? {};
  if (done === 0) return true;
  const entry = store.get<{ at: string }>(
    `select json_extract(document, '$.at') as at from transcript where stage_id = ? and "index" = ?`,
    ...[id, done],
  );
  return entry?.at === last_at;
}

/** Indexes a few of a stage's entries. Returns whether none is left. */
function indexSome(store: Queries, rows: IndexRows, ordinal: number, { id, total }: Behind): boolean {
  const done = rows.stage(ordinal)?.done ?? 0;
  const sizes = store.all<{ bytes: number }>(
    `select octet_length(document) as bytes from transcript where stage_id = ? and "index" > ? order by "index" limit ${ROWS}`,
    ...[id, done],
  );
  let room = BYTES;
  const tooMany = sizes.findIndex(({ bytes }) => {
    room -= bytes;
    return room < 0;
  });
  const documents = store.all<{ document: string }>(
    'select document from transcript where stage_id = ? and "index" > ? order by "index" limit ?',
    ...[id, done, tooMany === -1 ? sizes.length : Math.max(1, tooMany)],
  );
  const entries = documents.map(({ document }) => JSON.parse(document) as TranscriptEntry); // written with its schema
  const last = entries.at(-1);
  if (last === undefined) return true; // the stage was deleted meanwhile
  rows.append(ordinal, itemsOfEntries(entries), last);
  return last.index >= total;
}

const commentsOf = (store: Queries, id: StageId): CommentRecord[] =>
  store
    .all<{ document: string }>('select document from comments where stage_id = ? order by ordinal', id)
    .map(({ document }) => JSON.parse(document) as CommentRecord); // written with its schema
