import type { StageId } from '@callboard/contract';
import { foldText } from '../../search/fold-words.ts';
import { FRACTION_DIGITS_OF_MS } from '../../search/result-pages.ts';
import type { Item, StageTexts } from '../../search/stage-texts.ts';
import type { Queries } from './search-files.ts';

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
const TABLES = ['heads', 'bodies'];

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

export function createIndexRows(index: Queries): IndexRows {
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
        for (const table of TABLES)
          index.run(`delete from ${table} where rowid in (select place from entries where stage = ?)`, ordinal);
        index.run('delete from entries where stage = ?', ordinal);
        index.run('delete from stages where ordinal = ?', ordinal);
      }),
    replaceTexts: (ordinal, id, { items, signature }) =>
      index.atomically(() => {
        const own = 'from entries where stage = ? and "index" is null';
        for (const table of TABLES) index.run(`delete from ${table} where rowid in (select place ${own})`, ordinal);
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
