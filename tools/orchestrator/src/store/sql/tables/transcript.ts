import { type StageId, TranscriptEntry } from '@callboard/contract';
import { sql } from 'kysely';
import { createYield, mapInSlices } from '../../../lib/breath.ts';
import type { TranscriptPage, TranscriptTable } from '../../ports/session-tables.ts';
import type { Database } from '../database.ts';
import { dialectOf } from '../dialect.ts';
import { builder, param, prepareWrite } from '../prepared.ts';
import { documentOf } from './map-row.ts';
import { rowsThatFit } from './page.ts';

const toEntry = documentOf(TranscriptEntry);

const append = prepareWrite(
  builder
    .insertInto('transcript')
    .values({ stage_id: param('stageId'), index: param<number>('index'), document: param('document') }),
);

/** How many entries are searched at once. */
const SLICE = 500;

/** Transcripts, in pages. */
export function transcriptTable(db: Database): TranscriptTable {
  return {
    async append(entries: readonly TranscriptEntry[]): Promise<void> {
      for (const entry of entries) {
        await append(db, { stageId: entry.stageId, index: entry.index, document: JSON.stringify(entry) });
      }
    },
    async findMessage(stageId, messageId) {
      const id = dialectOf(db).text(sql.ref('document'), 'messageId');
      const rows = db
        .selectFrom('transcript')
        .select('document')
        .where('stage_id', '=', stageId)
        .where(id, '=', messageId);
      const found = await rows.orderBy('index', 'asc').limit(1).executeTakeFirst();
      const entry = found === undefined ? null : toEntry(found);
      return entry?.kind === 'user' ? entry : null;
    },
    async findCall(stageId, toolUseId) {
      const yieldToEventLoop = createYield();
      const entries = db.selectFrom('transcript').where('stage_id', '=', stageId);
      const newest = await entries.select((eb) => eb.fn.max('index').as('index')).executeTakeFirst();
      const place = dialectOf(db).position(sql.ref('document'), sql.val(JSON.stringify(toolUseId)));
      for (let to = newest?.index ?? -1; to >= 0; to -= SLICE) {
        await yieldToEventLoop();
        const slice = entries
          .where('index', '<=', to)
          .where('index', '>', to - SLICE)
          .where(place, '>', 0);
        for (const row of await slice.select('document').orderBy('index', 'desc').execute()) {
          const entry = toEntry(row);
          if (entry.kind === 'tool-use' && entry.toolUseId === toolUseId) return entry;
        }
      }
      return null;
    },
    async countMessages(stageId, from) {
      const kind = dialectOf(db).text(sql.ref('document'), 'kind');
      const rows = db.selectFrom('transcript').where('stage_id', '=', stageId).where('index', '>=', from);
      const counted = rows.where(kind, '=', 'user').select(({ fn }) => fn.countAll<number>().as('count'));
      return (await counted.executeTakeFirst())?.count ?? 0;
    },
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
