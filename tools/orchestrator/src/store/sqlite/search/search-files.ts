import { chmodSync, closeSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { retainRecent } from '../../keep-recent.ts';

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
