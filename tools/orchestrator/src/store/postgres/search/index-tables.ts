import { z } from 'zod';
import type { PgLink } from '../pg-link.ts';

/** The shape of the index. An older one is built anew, so a change here needs no migration. */
const SHAPE = 1;
/** Any number that nobody else locks. Who holds it writes the index. */
export const INDEX_LOCK = 4_822_551_621;
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
