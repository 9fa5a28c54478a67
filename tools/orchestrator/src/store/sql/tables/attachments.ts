import { Attachment } from '@callboard/contract';
import type { AttachmentsTable } from '../../ports/stage-tables.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

/** See `AttachmentsTable`. */
export function attachmentsTable(db: Database): AttachmentsTable {
  return {
    async find(stageId, fileId) {
      const rows = db.selectFrom('attachments').select('document').where('stage_id', '=', stageId);
      return mapRow(await rows.where('id', '=', fileId).executeTakeFirst(), documentOf(Attachment));
    },
    async insert(stageId, fileId, file) {
      const row = { id: fileId, stage_id: stageId, document: JSON.stringify(file) };
      await db.insertInto('attachments').values(row).execute();
    },
    async remove(stageId, fileId) {
      await db.deleteFrom('attachments').where('stage_id', '=', stageId).where('id', '=', fileId).execute();
    },
  };
}
