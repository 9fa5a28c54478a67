import { chmodSync, closeSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { Indexing, Stage, StageId, TranscriptEntry } from '@callboard/contract';
import type { CommentRecord } from '../records.ts';
import {
  type FoundPage,
  type FoundRow,
  FRACTION_DIGITS_OF_MS,
  pageOf,
  resultOf,
  wantedFor,
} from '../search/result-pages.ts';
import {
  foldText,
  type IndexQuery,
  type Item,
  itemsOfEntries,
  type SearchTerm,
  type StageTexts,
  textsOfStage,
} from '../search/search-text.ts';
import { retainRecent } from './node-sqlite.ts';

/** What the thread of the index is started with. */
export interface SearchFiles {
  store: string;
  index: string;
}

/** A database whose statements are compiled once. */
export interface Queries {
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[];
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined;
  run(sql: string, ...values: SQLInputValue[]): void;
  /** Runs `work` in one transaction. */
  atomically(work: () => void): void;
  close(): void;
}

/** The shape of the index. Another one is built anew, so a change here needs no migration. */
const SHAPE = 3;

const TABLES = `
  -- How far each stage is indexed. Ordinals, unlike ids, are never used twice. texts: a hash of the title, prompt and comments, as indexed.
  create table stages (ordinal integer primary key, id text not null, done integer not null, last_at text, texts text not null);
  create index stages_by_id on stages(id);
  -- place: the instant and a number, so that the newest is the highest.
  create table entries (place integer primary key, stage integer not null, kind text not null, "index" integer,
    comment text, only_for text, by text, tool text);
  create index entries_by_stage on entries(stage);
  -- Of titles and prompts, and of comments and transcripts. The texts themselves stay in the store.
  -- prefix: a beginning of one of these lengths, or of one letter less, is looked up; a longer one is gathered from all words with it.
  create virtual table heads using fts5(words, content='', contentless_delete=1, prefix='2 3 5 7 9', tokenize='ascii');
  create virtual table bodies using fts5(words, content='', contentless_delete=1, prefix='2 3 5 7 9', tokenize='ascii');
  pragma user_version = ${SHAPE};
`;

/** Opens the store to read from it beside its writer. */
export const openStoreToRead = (file: string): Queries =>
  queriesOf(new DatabaseSync(file, { readOnly: true, timeout: 5_000 }));

/** Opens the index, or begins a new one if it is missing, damaged or of another shape. */
export function openIndex(file: string): Queries {
  const known = tryToOpen(file);
  if (known !== null) return known;
  removeIndex(file);
  closeSync(openSync(file, 'a', 0o600));
  const made = open(file);
  made.exec(TABLES);
  return queriesOf(made);
}

export function removeIndex(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true });
}

function tryToOpen(file: string): Queries | null {
  let database: DatabaseSync | undefined;
  try {
    chmodSync(file, 0o600);
    database = open(file);
    const { user_version: shape } = { user_version: 0, ...database.prepare('pragma user_version').get() };
    const { quick_check: verdict } = { quick_check: '', ...database.prepare('pragma quick_check(1)').get() };
    if (shape === SHAPE && verdict === 'ok') return queriesOf(database);
  } catch {
    // missing or damaged: the caller begins a new one
  }
  database?.close();
  return null;
}

function open(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  database.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma temp_store = memory;');
  return database;
}

const MAX_STATEMENTS = 100;

function queriesOf(database: DatabaseSync): Queries {
  const statements = retainRecent(MAX_STATEMENTS, (sql) => database.prepare(sql));
  return {
    all: <Row>(sql: string, ...values: SQLInputValue[]) => statements.get(sql).all(...values) as Row[], // as the query says
    get: <Row>(sql: string, ...values: SQLInputValue[]) => statements.get(sql).get(...values) as Row | undefined,
    // Not with `run`: the last row of an FTS5 table may have a number beyond those of JavaScript, for which Node throws.
    run: (sql, ...values) => void statements.get(sql).all(...values),
    atomically(work) {
      database.exec('begin immediate');
      try {
        work();
        database.exec('commit');
      } catch (error) {
        if (database.isTransaction) database.exec('rollback');
        throw error;
      }
    },
    close: () => {
      statements.clear();
      database.close();
    },
  };
}

/** Finds a page of texts in the index, and reads them from the store for their snippets. */
export function findTexts(store: Queries, index: Queries, query: IndexQuery): FoundPage {
  const wanted = wantedFor(query);
  const heads = wanted.heads === null ? [] : findHeads(index, query, wanted.heads);
  const bodies = wanted.before === null ? [] : findBodies(index, query, wanted.before);
  const { shown, next } = pageOf(query, heads, bodies);
  return { results: shown.flatMap((row) => resultOf(row, documentOf(store, row), query)), next };
}

/** Only letters and digits are left in words, and within quotes none of them is an operator. */
const matchOf = (terms: readonly SearchTerm[]): string =>
  terms.map(({ words, isPrefix }) => `"${words.join(' ')}"${isPrefix ? '*' : ''}`).join(' AND ');

/** The filters that both kinds of texts have, with their values. */
function filtersOf({ stageIds, kind, by, since, person }: IndexQuery): { where: string; values: (string | number)[] } {
  const filters: [string, string | number][] = [['(entries.only_for is null or entries.only_for = ?)', person]];
  if (stageIds !== null) filters.push(['stages.id in (select value from json_each(?))', JSON.stringify(stageIds)]);
  if (kind !== undefined) filters.push(['entries.kind = ?', kind]);
  if (by !== undefined) filters.push(['entries.by = ?', by]);
  if (since !== undefined) filters.push(['found.rowid >= ?', Date.parse(since) * FRACTION_DIGITS_OF_MS]);
  return { where: filters.map(([sql]) => ` and ${sql}`).join(''), values: filters.map(([, value]) => value) };
}

const COLUMNS = 'entries.place, stages.id, entries.kind, entries."index", entries.comment, entries.by, entries.tool';
/** In this order: the words have by far the fewest rows. */
const joined = (table: string) =>
  `select ${COLUMNS} from ${table} found cross join entries on entries.place = found.rowid
   cross join stages on stages.ordinal = entries.stage where found.words match ?`;

function findHeads(index: Queries, query: IndexQuery, skipped: number): FoundRow[] {
  const { where, values } = filtersOf(query);
  return index.all<FoundRow>(
    `${joined('heads')}${where} order by entries.kind = 'title' desc, found.rank, found.rowid desc limit ? offset ?`,
    ...[matchOf(query.terms), ...values, query.limit + 1, skipped],
  );
}

function findBodies(index: Queries, query: IndexQuery, before: number): FoundRow[] {
  const { where, values } = filtersOf(query);
  return index.all<FoundRow>(
    `${joined('bodies')}${where} and found.rowid < ? order by found.rowid desc limit ?`,
    ...[matchOf(query.terms), ...values, before, query.limit + 1],
  );
}

function documentOf(store: Queries, { id, index, comment }: FoundRow): string | undefined {
  const one = (sql: string, ...values: (string | number)[]) =>
    store.get<{ document: string }>(sql, ...values)?.document;
  if (comment !== null) return one('select document from comments where stage_id = ? and id = ?', id, comment);
  if (index === null) return one('select document from stages where id = ?', id);
  return one('select document from transcript where stage_id = ? and "index" = ?', id, index);
}

interface IndexedStage {
  ordinal: number;
  id: StageId;
  /** The last entry that is indexed, and its instant. */
  done: number;
  last_at: string | null;
  /** The signature of the texts that are indexed. */
  texts: string;
}

/** Titles and prompts; everything else. */
const INDEX_TABLES = ['heads', 'bodies'];

/** The rows of the index. Each function is one transaction. */
export interface IndexRows {
  /** The stages of the index: these, or all. */
  stages(ids: readonly StageId[] | null): IndexedStage[];
  stage(ordinal: number): IndexedStage | undefined;
  /** The number of entries in the index. */
  done(): number;
  forget(ordinal: number): void;
  replaceTexts(ordinal: number, id: StageId, texts: StageTexts): void;
  /** @param last the last entry read, which may have no words */
  append(ordinal: number, items: readonly Item[], last: { index: number; at: string }): void;
}

function createIndexRows(index: Queries): IndexRows {
  function freeSlot(at: string): number {
    const instant = Date.parse(at);
    for (let ms = Number.isNaN(instant) ? 0 : instant; ; ms++) {
      const [from, until] = [ms * FRACTION_DIGITS_OF_MS, (ms + 1) * FRACTION_DIGITS_OF_MS];
      const row = index.get<{ last: number | null }>(
        'select max(place) as last from entries where place >= ? and place < ?',
        ...[from, until],
      );
      const next = row?.last == null ? from : row.last + 1;
      if (next < until) return next;
    }
  }

  function add(ordinal: number, item: Item): void {
    const place = freeSlot(item.at);
    index.run(
      'insert into entries (place, stage, kind, "index", comment, only_for, by, tool) values (?, ?, ?, ?, ?, ?, ?, ?)',
      ...[place, ordinal, item.kind, item.index, item.comment, item.onlyFor, item.by, item.toolName],
    );
    const table = item.kind === 'title' || item.kind === 'prompt' ? 'heads' : 'bodies';
    index.run(`insert into ${table} (rowid, words) values (?, ?)`, place, foldText(item.text));
  }

  return {
    stages: (ids) =>
      ids === null
        ? index.all<IndexedStage>('select * from stages')
        : index.all<IndexedStage>(
            'select * from stages where id in (select value from json_each(?))',
            JSON.stringify(ids),
          ),
    stage: (ordinal) => index.get<IndexedStage>('select * from stages where ordinal = ?', ordinal),
    done: () => index.get<{ done: number | null }>('select sum(done) as done from stages')?.done ?? 0,
    forget: (ordinal) =>
      index.atomically(() => {
        for (const table of INDEX_TABLES)
          index.run(`delete from ${table} where rowid in (select place from entries where stage = ?)`, ordinal);
        index.run('delete from entries where stage = ?', ordinal);
        index.run('delete from stages where ordinal = ?', ordinal);
      }),
    replaceTexts: (ordinal, id, { items, signature }) =>
      index.atomically(() => {
        const own = 'from entries where stage = ? and "index" is null';
        for (const table of INDEX_TABLES)
          index.run(`delete from ${table} where rowid in (select place ${own})`, ordinal);
        index.run(`delete ${own}`, ordinal);
        for (const item of items) add(ordinal, item);
        index.run(
          `insert into stages (ordinal, id, done, texts) values (?, ?, 0, ?)
           on conflict (ordinal) do update set texts = excluded.texts`,
          ...[ordinal, id, signature],
        );
      }),
    append: (ordinal, items, last) =>
      index.atomically(() => {
        for (const item of items) add(ordinal, item);
        index.run('update stages set done = ?, last_at = ? where ordinal = ?', last.index, last.at, ordinal);
      }),
  };
}

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
