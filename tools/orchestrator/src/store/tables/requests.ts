import { Decision, LaunchId, PendingRequest, type RequestId, type StageId } from '@callboard/contract';
import type { Selectable } from 'kysely';
import type { Database } from '../database.ts';
import type { Schema } from '../schema.ts';

/** A request that waits, or waited, for a person; `decision` is null as long as it waits. */
export interface StoredRequest {
  request: PendingRequest;
  launchId: LaunchId;
  decision: Decision | null;
}

const toStored = (row: Selectable<Schema['requests']>): StoredRequest => ({
  request: PendingRequest.parse(JSON.parse(row.document)),
  launchId: LaunchId.parse(row.launch_id),
  decision: row.decision === null ? null : Decision.parse(JSON.parse(row.decision)),
});

/** Pending requests and their decisions. */
export function requestsTable(db: Database) {
  const select = () => db.selectFrom('requests').selectAll();
  const open = () => select().where('state', '=', 'open').orderBy('created_at').orderBy('request_id');
  return {
    async listOpen(): Promise<PendingRequest[]> {
      return (await open().execute()).map((row) => toStored(row).request);
    },
    async listOpenOf(stageId: StageId): Promise<PendingRequest[]> {
      return (await open().where('stage_id', '=', stageId).execute()).map((row) => toStored(row).request);
    },
    async find(stageId: StageId, requestId: RequestId): Promise<StoredRequest | null> {
      const row = await select().where('stage_id', '=', stageId).where('request_id', '=', requestId).executeTakeFirst();
      return row === undefined ? null : toStored(row);
    },
    /** False when the stage has a request of that id already; then nothing changes. */
    async open(request: PendingRequest, launchId: LaunchId): Promise<boolean> {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('requests')
        .values({
          stage_id: request.stageId,
          request_id: request.requestId,
          launch_id: launchId,
          state: 'open',
          document: JSON.stringify(request),
          created_at: request.createdAt,
        })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    },
    async decide(decision: Decision): Promise<void> {
      await db
        .updateTable('requests')
        .set({
          state: decision.outcome === 'closed' ? 'closed' : 'decided',
          decision: JSON.stringify(decision),
          decided_at: decision.at,
        })
        .where('stage_id', '=', decision.stageId)
        .where('request_id', '=', decision.requestId)
        .execute();
    },
    /** The decision log, newest first. */
    async decisions(stageId: StageId | null, limit: number): Promise<Decision[]> {
      let query = select().where('decision', 'is not', null).orderBy('decided_at', 'desc').limit(limit);
      if (stageId !== null) query = query.where('stage_id', '=', stageId);
      return (await query.execute()).flatMap((row) => toStored(row).decision ?? []);
    },
  };
}
