import { MachineId, ProjectId, StageId, Worktree } from '@callboard/contract';
import { z } from 'zod';
import type { OrphanedWorktree, OrphanedWorktreesTable } from '../../ports/machine-tables.ts';
import type { Database } from '../database.ts';
import { documentOf } from './map-row.ts';

const Orphaned = z.object({
  machineId: MachineId,
  stageId: StageId,
  stageTitle: z.string(),
  projectId: ProjectId,
  projectName: z.string(),
  repository: z.string().nullable(),
  worktree: Worktree,
  isRecorded: z.boolean().default(true), // all were, before this was noted
  isKept: z.boolean(),
  isTaken: z.boolean(),
  told: z.string().nullable(),
}) satisfies z.ZodType<OrphanedWorktree>;

const toOrphaned = documentOf(Orphaned);

/** See `OrphanedWorktreesTable`. */
export function orphanedWorktreesTable(db: Database): OrphanedWorktreesTable {
  return {
    async listOf(machineId) {
      const rows = db.selectFrom('former_worktrees').select('document').where('machine_id', '=', machineId);
      return (await rows.orderBy('path').execute()).map(toOrphaned);
    },
    async save(orphaned) {
      const document = JSON.stringify(orphaned);
      const row = {
        machine_id: orphaned.machineId,
        path: orphaned.worktree.path,
        stage_id: orphaned.stageId,
        document,
      };
      await db
        .insertInto('former_worktrees')
        .values(row)
        .onConflict((conflict) => conflict.columns(['machine_id', 'path']).doUpdateSet(row))
        .execute();
    },
    async remove({ machineId, worktree }) {
      await db
        .deleteFrom('former_worktrees')
        .where('machine_id', '=', machineId)
        .where('path', '=', worktree.path)
        .execute();
    },
  };
}
