import { z } from 'zod';
import { wordsOf } from '../../search/fold-words.ts';
import { FRACTION_DIGITS_OF_MS } from '../../search/result-pages.ts';
import type { Item } from '../../search/stage-texts.ts';
import type { PgLink } from '../pg-link.ts';
import { rowsOf } from './index-tables.ts';
import { vectorsOf } from './lexemes.ts';

/** A text of a stage. */
export interface StageItem {
  stage: number;
  item: Item;
}

/** Adds texts to the index. The caller holds its lock. */
export async function writeEntries(link: PgLink, items: readonly StageItem[]): Promise<void> {
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
