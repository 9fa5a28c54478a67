import { type Stage, StageId } from '@callboard/contract';
import { z } from 'zod';
import type { CommentRecord } from '../../records.ts';
import { textsOfStage } from '../../search/stage-texts.ts';
import type { PgLink } from '../pg-link.ts';
import { rowsOf } from './index-tables.ts';
import { type StageItem, writeEntries } from './write-entries.ts';

const Ordinal = z.object({ ordinal: z.number() });
const StoredStage = Ordinal.extend({ id: StageId, document: z.string(), total: z.number() });
type StoredStage = z.infer<typeof StoredStage>;

const STORED = `select ordinal, id, document,
  coalesce((select max("index") from transcript where stage_id = stages.id), 0) as total from stages`;

/** Brings the texts of these stages that may change up to date, notes how many entries they have, and forgets those that are gone. */
export async function checkStages(link: PgLink, ids: readonly string[]): Promise<void> {
  const stages = await rowsOf(link, StoredStage, `${STORED} where id = any($1)`, [ids]);
  await forget(link, 'id = any($1) and ordinal not in (select ordinal from stages where id = any($1))', [ids]);
  await update(link, stages);
}

/** Looks at some of the stages below an ordinal, the newest first. Returns the lowest that it has looked at; null when none is left. */
export async function checkBelow(link: PgLink, ordinal: number, limit: number): Promise<number | null> {
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
