import { MachineId, MachineState, ProjectId, StageId, Worktree } from '@callboard/contract';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import {
  type MachineCommandsTable,
  type MachineRecord,
  type MachineReport,
  type MachinesTable,
  type OrphanedWorktree,
  type OrphanedWorktreesTable,
  type ProjectPlacesTable,
  StoredCommand,
} from '../ports/machine-port.ts';
import { dialectOf, storeNowMs } from './prepared.ts';
import { documentOf, mapRow } from './rows.ts';
import type { Database, Schema } from './schema.ts';

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
