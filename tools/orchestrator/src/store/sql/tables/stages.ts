import { type ProjectId, Stage, type StageId } from '@callboard/contract';
import type { StagesTable } from '../../ports/stage-tables.ts';
import type { Database } from '../database.ts';
import type { KnownSessions } from '../known-sessions.ts';
import { builder, param, prepare } from '../prepared.ts';
import { mapRow } from './map-row.ts';
import { parsedOnce } from './parsed-once.ts';

const stageOf = parsedOnce((text) => Stage.parse(JSON.parse(text)));
const toStage = (row: { id: string; document: string }): Stage => stageOf(row.id, row.document);

const byId = prepare(builder.selectFrom('stages').select(['id', 'document']).where('id', '=', param('id')));

/** Stages, oldest first. */
export function stagesTable(db: Database, sessions: Pick<KnownSessions, 'forget'>): StagesTable {
  return {
    async list(): Promise<Stage[]> {
      return (await db.selectFrom('stages').select(['id', 'document']).orderBy('ordinal').execute()).map(toStage);
    },
    async find(id: StageId): Promise<Stage | null> {
      const [row] = await byId(db, { id });
      return mapRow(row, toStage);
    },
    async isUsed(project: ProjectId): Promise<boolean> {
      const row = await db.selectFrom('stages').select('id').where('project_id', '=', project).executeTakeFirst();
      return row !== undefined;
    },
    async insert(stage: Stage): Promise<void> {
      await db
        .insertInto('stages')
        .values({
          id: stage.id,
          project_id: stage.projectId,
          completed_at: stage.completedAt,
          document: JSON.stringify(stage),
        })
        .execute();
    },
    async update(stage: Stage): Promise<void> {
      await db
        .updateTable('stages')
        .set({ completed_at: stage.completedAt, document: JSON.stringify(stage) })
        .where('id', '=', stage.id)
        .execute();
    },
    async remove(id: StageId): Promise<void> {
      sessions.forget(id);
      await db.deleteFrom('stages').where('id', '=', id).execute();
    },
    async nextId(): Promise<string> {
      const { value } = await db
        .updateTable('counters')
        .set((eb) => ({ value: eb('value', '+', 1) }))
        .where('name', '=', 'stage')
        .returning('value')
        .executeTakeFirstOrThrow();
      return `STAGE-${value}`;
    },
  };
}
