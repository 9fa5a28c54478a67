import { LaunchId, StageId } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { LaunchesTable } from '../../ports/session-tables.ts';
import { type LaunchRecord, LaunchSettings } from '../../records.ts';
import type { Database } from '../database.ts';
import { builder, param, prepareWrite } from '../prepared.ts';
import type { Schema } from '../schema.ts';
import { mapRow } from './map-row.ts';

const Identity = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string() });
const State = z.enum(['starting', 'live', 'ended']);

const toLaunch = (row: Selectable<Schema['launches']>): LaunchRecord => ({
  id: LaunchId.parse(row.id),
  stageId: StageId.parse(row.stage_id),
  state: State.parse(row.state),
  folder: row.folder,
  process: row.process === null ? null : Identity.parse(JSON.parse(row.process)),
  spoolOffset: row.spool_offset,
  createdAt: row.created_at,
  endedAt: row.ended_at,
  endReason: row.end_reason,
  settings: LaunchSettings.parse(row.settings === null ? {} : JSON.parse(row.settings)),
  leftovers: row.leftovers === null ? [] : z.array(Identity).parse(JSON.parse(row.leftovers)),
});

const setOffset = prepareWrite(
  builder
    .updateTable('launches')
    .set({ spool_offset: param<number>('offset') })
    .where('id', '=', param('id')),
);

/** Launches, oldest first. */
export function launchesTable(db: Database): LaunchesTable {
  const update = (id: LaunchId) => db.updateTable('launches').where('id', '=', id);
  return {
    async listNotEnded(): Promise<LaunchRecord[]> {
      const rows = await db.selectFrom('launches').selectAll().where('state', '!=', 'ended').orderBy('id').execute();
      return rows.map(toLaunch);
    },
    async listOf(stageId: StageId): Promise<LaunchRecord[]> {
      const rows = await db.selectFrom('launches').selectAll().where('stage_id', '=', stageId).orderBy('id').execute();
      return rows.map(toLaunch);
    },
    async find(id: LaunchId): Promise<LaunchRecord | null> {
      const row = await db.selectFrom('launches').selectAll().where('id', '=', id).executeTakeFirst();
      return mapRow(row, toLaunch);
    },
    async insert(launch: Pick<LaunchRecord, 'id' | 'stageId' | 'folder' | 'createdAt'>): Promise<void> {
      const { id, stageId, folder, createdAt } = launch;
      await db
        .insertInto('launches')
        .values({ id, stage_id: stageId, state: 'starting', folder, created_at: createdAt, spool_offset: 0 })
        .execute();
    },
    async setLive(id: LaunchId, process: ProcessIdentity, settings?: LaunchSettings): Promise<void> {
      await update(id)
        .set({
          state: 'live',
          process: JSON.stringify(process),
          ...(settings !== undefined && { settings: JSON.stringify(settings) }),
        })
        .execute();
    },
    async setOffset(id: LaunchId, offset: number): Promise<void> {
      await setOffset(db, { id, offset });
    },
    async setLeftovers(id: LaunchId, leftovers: readonly ProcessIdentity[]): Promise<void> {
      await update(id)
        .set({ leftovers: JSON.stringify(leftovers) })
        .execute();
    },
    async setEnded(id: LaunchId, at: string, reason: string): Promise<void> {
      await update(id).set({ state: 'ended', ended_at: at, end_reason: reason }).execute();
    },
  };
}
