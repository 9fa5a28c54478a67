import { StageId, WorktreeCommand } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { z } from 'zod';
import type { PortRange, PortRangesTable, StoredCommand, WorktreeCommandsTable } from '../../ports/worktree-tables.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const Identity = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string() });
const toCommand = documentOf(WorktreeCommand);

/** See `WorktreeCommandsTable`. */
export function worktreeCommandsTable(db: Database): WorktreeCommandsTable {
  const select = () => db.selectFrom('worktree_commands').selectAll().orderBy('ordinal');
  return {
    async listOf(stageId: StageId): Promise<WorktreeCommand[]> {
      return (await select().where('stage_id', '=', stageId).execute()).map(toCommand);
    },
    async listRunning(): Promise<StoredCommand[]> {
      const rows = await select().where('state', '=', 'running').execute();
      return rows.map((row) => ({
        command: toCommand(row),
        process: row.process === null ? null : Identity.parse(JSON.parse(row.process)),
      }));
    },
    async find(id: string): Promise<WorktreeCommand | null> {
      return mapRow(await select().where('id', '=', id).executeTakeFirst(), toCommand);
    },
    async insert(command: WorktreeCommand): Promise<void> {
      const { id, stageId, state } = command;
      await db
        .insertInto('worktree_commands')
        .values({ id, stage_id: stageId, state, process: null, document: JSON.stringify(command) })
        .execute();
    },
    async setProcess(id: string, process: ProcessIdentity): Promise<void> {
      await db
        .updateTable('worktree_commands')
        .set({ process: JSON.stringify(process) })
        .where('id', '=', id)
        .execute();
    },
    async update(command: WorktreeCommand): Promise<void> {
      await db
        .updateTable('worktree_commands')
        .set({ state: command.state, document: JSON.stringify(command) })
        .where('id', '=', command.id)
        .execute();
    },
    async remove(id: string): Promise<void> {
      await db.deleteFrom('worktree_commands').where('id', '=', id).execute();
    },
  };
}

/** See `PortRangesTable`. */
export function portRangesTable(db: Database): PortRangesTable {
  return {
    async list(): Promise<PortRange[]> {
      const rows = await db.selectFrom('port_ranges').selectAll().orderBy('place').execute();
      return rows.map(({ stage_id, place, base }) => ({ stageId: StageId.parse(stage_id), place, base }));
    },
    async save({ stageId, place, base }: PortRange): Promise<void> {
      await db
        .insertInto('port_ranges')
        .values({ stage_id: stageId, place, base })
        .onConflict((conflict) => conflict.column('stage_id').doUpdateSet({ place, base }))
        .execute();
    },
    async remove(stageId: StageId): Promise<void> {
      await db.deleteFrom('port_ranges').where('stage_id', '=', stageId).execute();
    },
  };
}
