import { setTimeout as wait } from 'node:timers/promises';
import { type Indexing, type Stage, StageId, type TranscriptEntry } from '@callboard/contract';
import {
  CHANGES_OF_TEXTS,
  FRACTION_DIGITS_OF_MS,
  type Item,
  itemsOfEntries,
  type SearchTerm,
  textsOfStage,
  wordsOf,
} from '@callboard/orchestrator/search';
import type { CommentRecord } from '@callboard/orchestrator/store';
import { z } from 'zod';
import type { PgLink } from './pg-link.ts';

/** Of one transaction: events, stages, entries, and about how many bytes of entries. */
const EVENTS = 2_000;
const STAGES = 50;
const ROWS = 1_000;
const BYTES = 1024 * 1024;
const BUSY_POLL_MS = 5;

const State = z.object({ looked: z.number(), full_at: z.number().nullable() });
const Behind = z.object({ ordinal: z.number(), id: z.string(), done: z.number(), total: z.number() });
const Updates = z.object({ last: z.number().nullable(), ids: z.array(z.string()).nullable(), has_gap: z.boolean() });
const Progress = z.object({ is_behind: z.boolean(), done: z.number(), left: z.number() });

/**
 * Copies words from the store into the index until nothing is left, or for about that long. The lock of the index is held for one small
 * transaction at a time, so of several machines one writes each text. Nothing of it waits for the lock of the store's writers, nor holds it.
 * @returns whether another machine was writing all the time
 */
export async function fillIndex(link: PgLink, forMs: number): Promise<boolean> {
  const until = performance.now() + forMs;
  let isBusy = false;
  while (await hasUpdates(link)) {
    const step = await indexSome(link);
    isBusy = step === 'busy';
    if (performance.now() >= until) break;
    if (isBusy) await wait(BUSY_POLL_MS);
  }
  return isBusy;
}

/** Null: nothing is left. */
export async function progressOf(link: PgLink): Promise<Indexing | null> {
  const [row] = await rowsOf(
    link,
    Progress,
    `select coalesce(sum(done), 0)::bigint as done, coalesce(sum(total - done), 0)::bigint as left,
       coalesce(bool_or(done < total), false)
         or (select full_at is not null or exists (select from events where seq > looked and type = any($1)) from search_state)
         as is_behind from search_stages`,
    [CHANGES_OF_TEXTS],
  );
  if (row === undefined || !row.is_behind) return null;
  return { done: row.done, total: row.done + Math.max(row.left, 1) };
}

async function hasUpdates(link: PgLink): Promise<boolean> {
  const [row] = await rowsOf(
    link,
    z.object({ has: z.boolean() }),
    `select full_at is not null or exists (select from search_stages where done < total)
       or exists (select from events where seq > looked) as has from search_state`,
  );
  return row?.has === true;
}

/** One transaction. What it writes can be derived again, so it need not be on the disk at once. */
async function indexSome(link: PgLink): Promise<'busy' | 'done'> {
  const begun = await link.queryAll(
    `begin; set local synchronous_commit = off; select pg_try_advisory_xact_lock(${INDEX_LOCK}) as has`,
  );
  try {
    const isOurs = z.tuple([z.object({ has: z.boolean() })]).parse(begun.at(-1)?.rows)[0].has;
    if (isOurs) await writeSome(link);
    await link.queryAll('commit');
    return isOurs ? 'done' : 'busy';
  } catch (error) {
    await link.queryAll('rollback').catch(() => undefined); // the connection may be gone, and the transaction with it
    throw error;
  }
}

/** What changed comes before what is long. */
async function writeSome(link: PgLink): Promise<void> {
  const [state] = await rowsOf(link, State, 'select looked, full_at from search_state');
  if (state === undefined) return;
  if (await checkForUpdates(link, state.looked)) return;
  if (state.full_at !== null) {
    const next = await checkBelow(link, state.full_at, STAGES);
    await link.query({ text: 'update search_state set full_at = $1', values: [next] });
    if (next !== null) return;
  }
  await appendSome(link);
}

/** Events have no gaps and are numbered in the order of commits, so none comes later with a lower number. Returns whether more are left. */
async function checkForUpdates(link: PgLink, checked: number): Promise<boolean> {
  const [updates] = await rowsOf(
    link,
    Updates,
    `with news as (
       select seq, case when type = any($2) then callboard_json(data) ->> 'stageId' end as stage
       from events where seq > $1 order by seq limit $3)
     select max(seq) as last, array_agg(distinct stage) filter (where stage is not null) as ids,
       coalesce((select min(seq) from events) > $1::bigint + 1, false) as has_gap from news`,
    [checked, CHANGES_OF_TEXTS, EVENTS],
  );
  if (updates === undefined || updates.last === null) return false;
  const { last, ids, has_gap: hasGap } = updates;
  // The index was left alone until events that it has not seen were pruned.
  const full = hasGap ? Number.MAX_SAFE_INTEGER : null;
  const text = 'update search_state set looked = $1, full_at = coalesce($2::bigint, full_at)';
  await link.query({ text, values: [last, full] });
  if (ids !== null) await checkStages(link, ids);
  return last - checked >= EVENTS;
}

/** Indexes a few entries of the newest stage that is behind. */
async function appendSome(link: PgLink): Promise<void> {
  const text = 'select ordinal, id, done, total from search_stages where done < total order by ordinal desc limit 1';
  const [stage] = await rowsOf(link, Behind, text);
  if (stage === undefined) return;
  const documents = await rowsOf(
    link,
    z.object({ document: z.string() }),
    `select document from (
       select "index", document, sum(octet_length(document)) over (order by "index") - octet_length(document) as before
       from (select "index", document from transcript where stage_id = $1 and "index" > $2 order by "index" limit ${ROWS}) as few
     ) as sized where before < ${BYTES} order by "index"`,
    [stage.id, stage.done],
  );
  const entries = documents.map(({ document }) => JSON.parse(document) as TranscriptEntry); // written with its schema
  await writeEntries(
    link,
    itemsOfEntries(entries).map((item) => ({ stage: stage.ordinal, item })),
  );
  // A stage that was deleted has no entries; an event says so soon.
  const done = entries.at(-1)?.index ?? stage.total;
  await link.query({
    text: 'update search_stages set done = $2, total = greatest(total, $2) where ordinal = $1',
    values: [stage.ordinal, done],
  });
}

/** The shape of the index. An older one is built anew, so a change here needs no migration. */
const SHAPE = 1;
/** Any number that nobody else locks. Who holds it writes the index. */
const INDEX_LOCK = 4_822_551_621;
/** Higher than any ordinal. */
const ABOVE_ALL = Number.MAX_SAFE_INTEGER;

/**
 * `search_state`: up to which event the index has looked at what changed; `full_at`: all stages below this ordinal are still to be looked at.
 * `search_stages`: how far each stage is indexed; `texts`: a hash of its title, prompt and comments, as indexed.
 * `search_entries`: `folded` holds the words of titles and prompts, which are ranked, and is null for the rest.
 * `search_parts`: the words of texts that are too long for one value.
 */
const TABLES = [
  'drop table if exists search_state, search_stages, search_entries, search_parts',
  'create table search_state (id bigint primary key check (id = 1), shape bigint not null, looked bigint not null, full_at bigint)',
  `create table search_stages (ordinal bigint primary key, id text not null, done bigint not null, total bigint not null,
     texts text not null)`,
  'create index search_stages_by_id on search_stages(id)',
  'create index search_stages_behind on search_stages(ordinal) where done < total',
  `create table search_entries (place bigint primary key, stage bigint not null, kind text not null, "index" bigint, comment text,
     only_for text, "by" text, tool text, folded text, length bigint not null, words tsvector not null)
     with (toast_tuple_target = 128)`, // the words are kept aside: a search of a common one reads the rest of many rows
  'create index search_entries_by_stage on search_entries(stage)',
  'create index search_heads on search_entries(length) where folded is not null',
  'create index search_words_of_heads on search_entries using gin(words) where folded is not null',
  'create index search_words on search_entries using gin(words) where folded is null',
  'create table search_parts (place bigint not null, words tsvector not null)',
  'create index search_parts_by_place on search_parts(place)',
  'create index search_words_of_parts on search_parts using gin(words)',
  `insert into search_state (id, shape, looked, full_at) select 1, ${SHAPE}, seq, ${ABOVE_ALL} from cluster_state where id = 1`,
];

/** Returns the rows of a query, as the schema says. */
export async function rowsOf<T>(
  link: PgLink,
  schema: z.ZodType<T>,
  text: string,
  values: readonly unknown[] = [],
): Promise<T[]> {
  return z.array(schema).parse((await link.query({ text, values })).rows);
}

/** Creates an empty index if there is none, or an older one. @throws Error if a newer Callboard has built it */
export async function requireIndex(link: PgLink): Promise<void> {
  if ((await shapeOf(link)) === SHAPE) return;
  await link.queryAll(`begin; select pg_advisory_xact_lock(${INDEX_LOCK})`);
  try {
    const shape = await shapeOf(link);
    if (shape !== null && shape > SHAPE)
      throw new Error('a newer Callboard has built the index of the search; start the newer one on this machine');
    await link.queryAll([...(shape === SHAPE ? [] : TABLES), 'commit'].join(';'));
  } catch (error) {
    await link.queryAll('rollback').catch(() => undefined);
    throw error;
  }
}

/** Null if there is no index. */
async function shapeOf(link: PgLink): Promise<number | null> {
  const has = z.object({ has: z.boolean() });
  const [found] = await rowsOf(link, has, `select to_regclass('search_state') is not null as has`);
  if (found?.has !== true) return null;
  const [state] = await rowsOf(link, z.object({ shape: z.int() }), 'select shape from search_state');
  return state?.shape ?? null;
}

const Ordinal = z.object({ ordinal: z.number() });
const StoredStage = Ordinal.extend({ id: StageId, document: z.string(), total: z.number() });
type StoredStage = z.infer<typeof StoredStage>;

const STORED = `select ordinal, id, document,
  coalesce((select max("index") from transcript where stage_id = stages.id), 0) as total from stages`;

/** Brings the texts of these stages that may change up to date, notes how many entries they have, and forgets those that are gone. */
async function checkStages(link: PgLink, ids: readonly string[]): Promise<void> {
  const stages = await rowsOf(link, StoredStage, `${STORED} where id = any($1)`, [ids]);
  await forget(link, 'id = any($1) and ordinal not in (select ordinal from stages where id = any($1))', [ids]);
  await update(link, stages);
}

/** Looks at some of the stages below an ordinal, the newest first. Returns the lowest that it has looked at; null when none is left. */
async function checkBelow(link: PgLink, ordinal: number, limit: number): Promise<number | null> {
  const below = `${STORED} where ordinal < $1 order by ordinal desc limit $2`;
  const stages = await rowsOf(link, StoredStage, below, [ordinal, limit]);
  await update(link, stages);
  if (stages.length === limit) return stages.at(-1)?.ordinal ?? null;
  await forget(link, 'ordinal not in (select ordinal from stages)', []);
  return null;
}

async function update(link: PgLink, stages: readonly StoredStage[]): Promise<void> {
  const known = await rowsOf(
    link,
    Ordinal.extend({ texts: z.string() }),
    'select ordinal, texts from search_stages where ordinal = any($1)',
    [stages.map(({ ordinal }) => ordinal)],
  );
  const signatures = new Map(known.map(({ ordinal, texts }) => [ordinal, texts]));
  const comments = await commentsOf(link, stages);
  const texts = stages.map((stage) => {
    const document = JSON.parse(stage.document) as Stage; // written with its schema
    return { ...stage, ...textsOfStage(document, comments.get(stage.id) ?? []) };
  });
  const changed = texts.filter(({ ordinal, signature }) => signatures.get(ordinal) !== signature);
  const ordinals = changed.map(({ ordinal }) => ordinal);
  if (ordinals.length > 0) await forgetEntries(link, 'stage = any($1) and "index" is null', [ordinals]);
  await writeEntries(
    link,
    changed.flatMap(({ ordinal, items }) => items.map((item): StageItem => ({ stage: ordinal, item }))),
  );
  await link.query({
    text: `insert into search_stages (ordinal, id, done, total, texts)
      select ordinal, id, 0, total, texts from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) as new(ordinal, id, total, texts)
      on conflict (ordinal) do update set texts = excluded.texts, total = excluded.total`,
    values: [
      ...[texts.map(({ ordinal }) => ordinal), texts.map(({ id }) => id)],
      ...[texts.map(({ total }) => total), texts.map(({ signature }) => signature)],
    ],
  });
}

async function commentsOf(link: PgLink, stages: readonly StoredStage[]): Promise<Map<string, CommentRecord[]>> {
  const rows = await rowsOf(
    link,
    z.object({ stage_id: z.string(), document: z.string() }),
    'select stage_id, document from comments where stage_id = any($1) order by ordinal',
    [stages.map(({ id }) => id)],
  );
  const comments = new Map<string, CommentRecord[]>();
  for (const { stage_id, document } of rows)
    comments.set(stage_id, [...(comments.get(stage_id) ?? []), JSON.parse(document) as CommentRecord]); // written with its schema
  return comments;
}

async function forget(link: PgLink, where: string, values: readonly unknown[]): Promise<void> {
  const gone = await rowsOf(link, Ordinal, `delete from search_stages where ${where} returning ordinal`, values);
  if (gone.length === 0) return;
  await forgetEntries(link, 'stage = any($1)', [gone.map(({ ordinal }) => ordinal)]);
}

async function forgetEntries(link: PgLink, where: string, values: readonly unknown[]): Promise<void> {
  await link.query({
    text: `with gone as (delete from search_entries where ${where} returning place)
      delete from search_parts where place in (select place from gone)`,
    values,
  });
}

/** A text of a stage. */
export interface StageItem {
  stage: number;
  item: Item;
}

/** Adds texts to the index. The caller holds its lock. */
async function writeEntries(link: PgLink, items: readonly StageItem[]): Promise<void> {
  if (items.length === 0) return;
  const places = await freeSlots(
    link,
    items.map(({ item }) => msOf(item.at)),
  );
  const rows = items.map(({ stage, item }, nth) => {
    const words = Array.from(wordsOf(item.text), ({ word }) => word);
    const isHead = item.kind === 'title' || item.kind === 'prompt';
    const folded = isHead ? words.join(' ') : null;
    return { place: places[nth] ?? 0, stage, item, folded, length: words.length, vectors: vectorsOf(words) };
  });
  const column = <T>(read: (row: (typeof rows)[number]) => T): T[] => rows.map(read);
  await link.query({
    text: `insert into search_entries (place, stage, kind, "index", comment, only_for, "by", tool, folded, length, words)
      select place, stage, kind, "index", comment, only_for, who, tool, folded, length, words::tsvector
      from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
        $10::bigint[], $11::text[])
        as new(place, stage, kind, "index", comment, only_for, who, tool, folded, length, words)`,
    values: [
      ...[column(({ place }) => place), column(({ stage }) => stage), column(({ item }) => item.kind)],
      ...[column(({ item }) => item.index), column(({ item }) => storable(item.comment))],
      ...[column(({ item }) => storable(item.onlyFor)), column(({ item }) => storable(item.by))],
      ...[column(({ item }) => storable(item.toolName)), column(({ folded }) => folded)],
      column(({ length }) => length),
      column(({ vectors: [vector = '', ...more] }) => (more.length === 0 ? vector : '')),
    ],
  });
  for (const { place, vectors } of rows)
    for (const vector of vectors.length > 1 ? vectors : [])
      await link.query({
        text: 'insert into search_parts (place, words) values ($1, $2::tsvector)',
        values: [place, vector],
      });
}

/** PostgreSQL stores no NUL in a text. */
const storable = (text: string | null): string | null => text?.replaceAll('\0', '\uFFFD') ?? null;

function msOf(at: string): number {
  const instant = Date.parse(at);
  return Number.isNaN(instant) ? 0 : instant;
}

/** Returns a place for each instant that nobody has. */
async function freeSlots(link: PgLink, instants: readonly number[]): Promise<number[]> {
  const next = new Map<number, number>();
  const check = async (some: readonly number[]) => {
    const rows = await rowsOf(
      link,
      z.object({ ms: z.number(), last: z.number().nullable() }),
      `select ms, (select max(place) from search_entries
         where place >= ms * ${FRACTION_DIGITS_OF_MS} and place < (ms + 1) * ${FRACTION_DIGITS_OF_MS}) as last from unnest($1::bigint[]) as ms`,
      [some],
    );
    for (const { ms, last } of rows) next.set(ms, last === null ? ms * FRACTION_DIGITS_OF_MS : last + 1);
  };
  await check([...new Set(instants)]);
  const places: number[] = [];
  for (const instant of instants) {
    let ms = instant;
    while ((next.get(ms) ?? 0) >= (ms + 1) * FRACTION_DIGITS_OF_MS) {
      ms++;
      if (!next.has(ms)) await check([ms]);
    }
    const place = next.get(ms) ?? ms * FRACTION_DIGITS_OF_MS;
    places.push(place);
    next.set(ms, place + 1);
  }
  return places;
}

/**
 * What PostgreSQL indexes of a text: its words, and each two that stand together (with a space before them, so that the beginning of a
 * word is not looked up among pairs). Positions are not used: PostgreSQL keeps 256 of a word, and none beyond 16,383.
 */

/** A lexeme has 2,046 bytes at most: a space and two words of this length fit in any script. */
const MAX_WORD_LENGTH = 200;
/** The lexemes of one value have a megabyte at most. */
const MAX_BYTES = 800_000;

const cut = (word: string) => (word.length > MAX_WORD_LENGTH ? word.slice(0, MAX_WORD_LENGTH) : word);
const pairOf = (one: string, other: string) => ` ${cut(one)} ${cut(other)}`;
/** Words have letters and digits alone, so nothing in them needs to be escaped. */
const quoted = (lexeme: string) => `'${lexeme}'`;

/** Returns values of type `tsvector` for the words of a text: one, or several if one would be too large. */
function vectorsOf(words: readonly string[]): string[] {
  const lexemes = new Set<string>();
  for (const [at, word] of words.entries()) {
    lexemes.add(cut(word));
    const before = words[at - 1];
    if (before !== undefined) lexemes.add(pairOf(before, word));
  }
  const vectors: string[] = [];
  let bytes = 0;
  let some: string[] = [];
  for (const lexeme of lexemes) {
    bytes += Buffer.byteLength(lexeme);
    if (bytes > MAX_BYTES) {
      vectors.push(some.join(' '));
      [bytes, some] = [Buffer.byteLength(lexeme), []];
    }
    some.push(quoted(lexeme));
  }
  return [...vectors, some.join(' ')];
}

/** Returns values of type `tsquery`, all of which a text with the term matches. Others match as well if the term `isRough`. */
export function queriesOf({ words, isPrefix }: SearchTerm): string[] {
  const [only = ''] = words;
  const lexemes =
    words.length === 1 ? [cut(only)] : words.slice(1).map((word, before) => pairOf(words[before] ?? '', word));
  return lexemes.map((lexeme, at) => `${quoted(lexeme)}${isPrefix && at === lexemes.length - 1 ? ':*' : ''}`);
}

/** Whether the index alone cannot tell where the term stands: it knows pairs of words, and beginnings of very long ones. */
export const isRough = ({ words }: SearchTerm): boolean =>
  words.length > 2 || words.some((word) => word.length >= MAX_WORD_LENGTH);

/** Returns how often a term stands in a text. */
export function countIn(text: readonly string[], { words, isPrefix }: SearchTerm): number {
  let count = 0;
  for (let from = 0; from + words.length <= text.length; from++) {
    const isHere = words.every((word, at) => {
      const there = text[from + at] ?? '';
      return isPrefix && at === words.length - 1 ? there.startsWith(word) : there === word;
    });
    if (isHere) count++;
  }
  return count;
}
