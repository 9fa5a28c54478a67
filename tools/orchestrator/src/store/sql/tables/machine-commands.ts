import { StoredCommand } from '../../machine-records.ts';
import type { MachineCommandsTable } from '../../ports/machine-tables.ts';
import type { Database } from '../database.ts';
import { dialectOf } from '../dialect.ts';
import { storeNowMs } from '../store-clock.ts';
import { documentOf } from './map-row.ts';

const toCommand = documentOf(StoredCommand);

/** See `MachineCommandsTable`. */
export function machineCommandsTable(db: Database): MachineCommandsTable {
  return {
    async insert(command, limitMs) {
      const { id, machineId } = command;
      const deadline = (await storeNowMs(db)) + limitMs;
      const row = { id, machine_id: machineId, document: JSON.stringify(command), deadline, taken: 0, reply: null };
      await db.insertInto('machine_commands').values(row).execute();
    },
    async hasWaiting(machineId) {
      const waiting = db
        .selectFrom('machine_commands')
        .select('id')
        .where('machine_id', '=', machineId)
        .where('taken', '=', 0)
        .where('deadline', '>', dialectOf(db).nowMs); // nobody takes the others
      return (await waiting.executeTakeFirst()) !== undefined;
    },
    async take(machineId) {
      const rows = await db
        .updateTable('machine_commands')
        .set({ taken: 1 })
        .where('machine_id', '=', machineId)
        .where('taken', '=', 0)
        .where('deadline', '>', await storeNowMs(db))
        .returning(['id', 'document'])
        .execute();
      return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(toCommand);
    },
    async withdraw(id) {
      const { numDeletedRows } = await db
        .deleteFrom('machine_commands')
        .where('id', '=', id)
        .where('taken', '=', 0)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
    async answer(id, reply) {
      await db.updateTable('machine_commands').set({ reply }).where('id', '=', id).execute();
    },
    async findReply(id) {
      const row = await db.selectFrom('machine_commands').select('reply').where('id', '=', id).executeTakeFirst();
      return row?.reply ?? null;
    },
    async remove(id) {
      await db.deleteFrom('machine_commands').where('id', '=', id).execute();
    },
    async forget(olderThanMs) {
      const before = (await storeNowMs(db)) - olderThanMs;
      await db.deleteFrom('machine_commands').where('deadline', '<', before).execute();
    },
  };
}
