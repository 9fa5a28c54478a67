import { MachineId, MachineState } from '@callboard/contract';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { MachineRecord, MachineReport, MachinesTable } from '../../ports/machine-tables.ts';
import type { Database } from '../database.ts';
import type { Schema } from '../schema.ts';
import { storeNowMs } from '../store-clock.ts';
import { mapRow } from './map-row.ts';

const Report = z.object({
  name: z.string(),
  version: z.string(),
  claudeVersion: z.string().nullable(),
  load: z.number(),
  freeMemoryBytes: z.number(),
  memoryBytes: z.number(),
  sessions: z.number(),
  slots: z.number(),
  freeSlots: z.number(),
  url: z.string().nullable(),
  secretSha256: z.string(),
  endsSessionsAfterMs: z.number().nullable().default(null),
});

const instantOf = (ms: number): string => new Date(ms).toISOString();

const toMachine =
  (nowMs: number) =>
  (row: Selectable<Schema['machines']>): MachineRecord => ({
    ...Report.parse(JSON.parse(row.report)),
    id: MachineId.parse(row.id),
    epoch: row.epoch,
    state: MachineState.parse(row.state),
    isConnected: row.state !== 'lost' && row.lease_until > nowMs,
    since: row.since,
    seenAt: row.seen_at,
    silentMs: Math.max(0, nowMs - Date.parse(row.seen_at)),
  });

/** What a row says while its machine answers. */
const connected = (nowMs: number, report: MachineReport, leaseMs: number) => ({
  state: 'connected',
  lease_until: nowMs + leaseMs,
  seen_at: instantOf(nowMs),
  report: JSON.stringify(report),
});

/** See `MachinesTable`. */
export function machinesTable(db: Database): MachinesTable {
  const all = () => db.selectFrom('machines').selectAll().where('removed_at', 'is', null);

  return {
    async list() {
      const nowMs = await storeNowMs(db);
      return (await all().orderBy('id').execute()).map(toMachine(nowMs));
    },
    async find(id) {
      const row = await all().where('id', '=', id).executeTakeFirst();
      return mapRow(row, toMachine(await storeNowMs(db)));
    },
    async wasLost(id) {
      const row = await db.selectFrom('machines').select('lost_at').where('id', '=', id).executeTakeFirst();
      return row !== undefined && row.lost_at !== null;
    },
    async register(id, report, leaseMs) {
      const nowMs = await storeNowMs(db);
      const reported = connected(nowMs, report, leaseMs);
      const since = instantOf(nowMs);
      const { epoch } = await db
        .insertInto('machines')
        .values({ id, epoch: 1, since, removed_at: null, lost_at: null, ...reported })
        .onConflict((conflict) =>
          conflict
            .column('id')
            .doUpdateSet((eb) => ({ epoch: eb('machines.epoch', '+', 1), since, removed_at: null, ...reported })),
        )
        .returning('epoch')
        .executeTakeFirstOrThrow();
      return epoch;
    },
    async savedOrphanedWork(id, epoch) {
      await db.updateTable('machines').set({ lost_at: null }).where('id', '=', id).where('epoch', '=', epoch).execute();
    },
    async renew({ id, epoch, leaseMs }, report) {
      const nowMs = await storeNowMs(db);
      const of = db
        .updateTable('machines')
        .where('id', '=', id)
        .where('epoch', '=', epoch)
        .where('state', '!=', 'lost');
      const back = await of
        .set({ since: instantOf(nowMs), ...connected(nowMs, report, leaseMs) })
        .where('state', '=', 'unreachable')
        .executeTakeFirst();
      if (back.numUpdatedRows > 0n) return true;
      const { numUpdatedRows } = await of.set(connected(nowMs, report, leaseMs)).executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async release(id, epoch) {
      const of = { id, epoch };
      const row = await db
        .selectFrom('machines')
        .select('report')
        .where((eb) => eb.and(of))
        .executeTakeFirst();
      if (row === undefined) return;
      const report = JSON.stringify({ ...Report.parse(JSON.parse(row.report)), endsSessionsAfterMs: null });
      const lease_until = await storeNowMs(db);
      await db
        .updateTable('machines')
        .set({ lease_until, report })
        .where((eb) => eb.and(of))
        .execute();
    },
    ...absences(db),
  };
}

/** What others say of a machine that does not answer. */
function absences(db: Database): Pick<MachinesTable, 'noteUnreachable' | 'declareLost' | 'remove'> {
  return {
    async noteUnreachable() {
      const nowMs = await storeNowMs(db);
      const rows = await db
        .updateTable('machines')
        .set((eb) => ({ state: 'unreachable', since: eb.ref('seen_at') }))
        .where('state', '=', 'connected')
        .where('lease_until', '<=', nowMs)
        .returning('id')
        .execute();
      return rows.map(({ id }) => MachineId.parse(id));
    },
    async declareLost(id, silentMs = 0) {
      const nowMs = await storeNowMs(db);
      const now = instantOf(nowMs);
      const { numUpdatedRows } = await db
        .updateTable('machines')
        .set((eb) => ({ state: 'lost', since: now, lost_at: now, epoch: eb('epoch', '+', 1) }))
        .where('id', '=', id)
        .where('state', '!=', 'lost')
        .where('lease_until', '<=', nowMs)
        .where('seen_at', '<=', instantOf(nowMs - silentMs))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async remove(id) {
      const { numUpdatedRows } = await db
        .updateTable('machines')
        .set({ removed_at: instantOf(await storeNowMs(db)) })
        .where('id', '=', id)
        .where('state', '=', 'lost')
        .where('removed_at', 'is', null)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
  };
}
