import { Attachment, StageId } from '@callboard/contract';
import type { DraftFilesTable } from '../../ports/stage-tables.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

/** See `DraftFilesTable`. */
export function draftFilesTable(db: Database): DraftFilesTable {
  return {
    async find(stageId: StageId, fileId: string): Promise<Attachment | null> {
      const rows = db.selectFrom('draft_files').select('document').where('id', '=', fileId);
      const row = await rows.where('stage_id', '=', stageId).executeTakeFirst();
      return mapRow(row, documentOf(Attachment));
    },
    async insert(stageId: StageId, fileId: string, addedAt: string, file: Attachment): Promise<void> {
      await db
        .insertInto('draft_files')
        .values({ id: fileId, stage_id: stageId, added_at: addedAt, document: JSON.stringify(file) })
        .execute();
    },
    async remove(stageId: StageId, fileId: string): Promise<void> {
      await db.deleteFrom('draft_files').where('id', '=', fileId).where('stage_id', '=', stageId).execute();
    },
    async addedBefore(instant: string): Promise<{ stageId: StageId; fileIds: string[] }[]> {
      const rows = await db
        .selectFrom('draft_files')
        .select(['id', 'stage_id'])
        .where('added_at', '<', instant)
        .execute();
      return [...Map.groupBy(rows, (row) => row.stage_id)].map(([stageId, files]) => ({
        stageId: StageId.parse(stageId),
        fileIds: files.map((file) => file.id),
      }));
    },
  };
}
