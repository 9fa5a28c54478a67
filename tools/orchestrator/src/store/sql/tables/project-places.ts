import { MachineId, ProjectId } from '@callboard/contract';
import type { ProjectPlacesTable } from '../../ports/machine-tables.ts';
import type { Database } from '../database.ts';

/** See `ProjectPlacesTable`. */
export function projectPlacesTable(db: Database): ProjectPlacesTable {
  return {
    async list() {
      const rows = await db
        .selectFrom('project_places')
        .selectAll()
        .orderBy('project_id')
        .orderBy('machine_id')
        .execute();
      return rows.map(({ project_id, machine_id, path, remote }) => ({
        projectId: ProjectId.parse(project_id),
        machineId: MachineId.parse(machine_id),
        path,
        remote,
      }));
    },
    async save({ projectId, machineId, path, remote }) {
      await db
        .insertInto('project_places')
        .values({ project_id: projectId, machine_id: machineId, path, remote })
        .onConflict((conflict) => conflict.columns(['project_id', 'machine_id']).doUpdateSet({ path, remote }))
        .execute();
      const removed = db.selectFrom('machines').select('id').where('removed_at', 'is not', null);
      await db
        .deleteFrom('project_places')
        .where('project_id', '=', projectId)
        .where('machine_id', 'in', removed)
        .execute();
    },
    async removeOf(machineId) {
      const elsewhere = db.selectFrom('project_places').select('project_id').where('machine_id', '!=', machineId);
      await db
        .deleteFrom('project_places')
        .where('machine_id', '=', machineId)
        .where('project_id', 'in', elsewhere)
        .execute();
    },
  };
}
