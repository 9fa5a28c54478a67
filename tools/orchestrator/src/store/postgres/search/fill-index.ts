import { setTimeout as wait } from 'node:timers/promises';
import type { Indexing, TranscriptEntry } from '@callboard/contract';
import { z } from 'zod';
import { CHANGES_OF_TEXTS, itemsOfEntries } from '../../search/stage-texts.ts';
import type { PgLink } from '../pg-link.ts';
import { INDEX_LOCK, rowsOf } from './index-tables.ts';
import { checkBelow, checkStages } from './look-at-stages.ts';
import { writeEntries } from './write-entries.ts';

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
