import { type StageId, TranscriptEntry } from '@callboard/contract';
import { sql } from 'kysely';
import { mapInSlices } from '../../lib/breath.ts';
import type { Database } from '../database.ts';
import { builder, param, prepare } from '../prepared.ts';
import { rowsThatFit } from './page.ts';

const toEntry = (row: { document: string }): TranscriptEntry => TranscriptEntry.parse(JSON.parse(row.document));

export interface TranscriptPage {
  after: number | undefined;
  before: number | undefined;
  limit: number;
}

const append = prepare(
  builder
    .insertInto('transcript')
    .values({ stage_id: param('stageId'), index: param<number>('index'), document: param('document') }),
);

/** Transcripts, in pages. */
export function transcriptTable(db: Database) {
  return {
    async append(entries: readonly TranscriptEntry[]): Promise<void> {
      for (const entry of entries) {
        await append(db, { stageId: entry.stageId, index: entry.index, document: JSON.stringify(entry) });
      }
    },
    /**
     * In ascending order: from `after` on when it is given, else the last ones before `before` (or of all). `limit` at
     * most, and no more than a page holds.
     */
    async page(stageId: StageId, { after, before, limit }: TranscriptPage): Promise<TranscriptEntry[]> {
      let query = db.selectFrom('transcript').where('stage_id', '=', stageId);
      if (after !== undefined) query = query.where('index', '>', after);
      if (before !== undefined) query = query.where('index', '<', before);
      query = query.orderBy('index', after === undefined ? 'desc' : 'asc');
      const sizes = await query.select(sql<number>`octet_length(document)`.as('bytes')).limit(limit).execute();
      const rows = await query.select('document').limit(rowsThatFit(sizes)).execute();
      const entries = await mapInSlices(rows, toEntry);
      return after === undefined ? entries.reverse() : entries;
    },
  };
}
