import { MachineId, type ProjectId, Stage, type StageId } from '@callboard/contract';
import type { StagesTable } from '../../ports/stage-tables.ts';
import type { Database } from '../database.ts';
import type { RowCaches } from '../known-rows.ts';
import { builder, param, prepare } from '../prepared.ts';
import { mapRow } from './map-row.ts';
import { parsedOnce } from './parsed-once.ts';

const stageOf = parsedOnce((text) => Stage.parse(JSON.parse(text)));
interface Row {
  id: string;
  document: string;
  machine_id: string | null;
}

function toStage({ id, document, machine_id }: Row): Stage {
  const stage = stageOf(id, document);
  return machine_id === null ? stage : { ...stage, machineId: MachineId.parse(machine_id) };
}

/** Its machine has a column of its own. */
const documentOf = (stage: Stage): string =>
  JSON.stringify(stage.machineId === null ? stage : { ...stage, machineId: null });

const COLUMNS = ['id', 'document', 'machine_id'] as const;

const byId = prepare(builder.selectFrom('stages').select(COLUMNS).where('id', '=', param('id')));

/** Stages, oldest first. */
export function stagesTable(db: Database, caches: RowCaches): StagesTable {
  return {
    async list(): Promise<Stage[]> {
      return (await db.selectFrom('stages').select(COLUMNS).orderBy('ordinal').execute()).map(toStage);
    },
    async find(id: StageId): Promise<Stage | null> {
      const saved = caches.stages.find(id);
      if (saved !== undefined) return saved;
      const [row] = await byId(db, { id });
      return mapRow(row, (found) => {
        const stage = toStage(found);
        caches.stages.save(id, stage);
        return stage;
      });
    },
    async isUsed(project: ProjectId): Promise<boolean> {
      const row = await db.selectFrom('stages').select('id').where('project_id', '=', project).executeTakeFirst();
      return row !== undefined;
    },
    async findCreated(creationId: string): Promise<Stage | null> {
      const found = db.selectFrom('stages').select(COLUMNS).where('creation_id', '=', creationId);
      return mapRow(await found.executeTakeFirst(), toStage);
    },
    async insert(stage: Stage, creationId?: string): Promise<void> {
      await db
        .insertInto('stages')
        .values({
          id: stage.id,
          project_id: stage.projectId,
          completed_at: stage.completedAt,
          document: documentOf(stage),
          machine_id: stage.machineId,
          creation_id: creationId ?? null,
        })
        .execute();
    },
    async update(stage: Stage): Promise<void> {
      caches.stages.forget(stage.id);
      await db
        .updateTable('stages')
        .set({ completed_at: stage.completedAt, document: documentOf(stage) })
        .where('id', '=', stage.id)
        .execute();
    },
    async claim(id: StageId, machineId: MachineId): Promise<boolean> {
      caches.stages.forget(id);
      const { numUpdatedRows } = await db
        .updateTable('stages')
        .set({ machine_id: machineId })
        .where('id', '=', id)
        .where((eb) => eb.or([eb('machine_id', 'is', null), eb('machine_id', '=', machineId)]))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async releaseOf(machineId: MachineId): Promise<void> {
      caches.stages.forgetAll();
      await db.updateTable('stages').set({ machine_id: null }).where('machine_id', '=', machineId).execute();
    },
    async remove(id: StageId): Promise<void> {
      caches.sessions.forget(id);
      caches.stages.forget(id);
      caches.queued.forget(id);
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
