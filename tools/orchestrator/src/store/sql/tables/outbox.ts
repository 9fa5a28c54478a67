import type { LaunchId } from '@callboard/contract';
import type { NewOutboxRow, OutboxTable } from '../../ports/session-tables.ts';
import type { OutboxBody, OutboxRow, OutboxState } from '../../records.ts';
import type { Database } from '../database.ts';
import type { RowCaches } from '../known-rows.ts';
import { builder, param, prepare, prepareWrite } from '../prepared.ts';
import { mapRow } from './map-row.ts';
import { messageQueue } from './message-queue.ts';
import { type GivenRows, toRow } from './outbox-row.ts';

const insert = prepare(
  builder
    .insertInto('outbox')
    .values({
      id: param('id'),
      stage_id: param('stageId'),
      launch_id: param<string | null>('launchId'),
      kind: param('kind'),
      state: param('state'),
      wire_id: param('wireId'),
      body: param('body'),
      actor: param<string | null>('actor'),
      position: param<number>('position'),
      writing: 0,
      created_at: param('createdAt'),
      written_at: param<string | null>('writtenAt'),
    })
    .returning('ordinal'),
);
const setWritten = prepareWrite(
  builder
    .updateTable('outbox')
    .where('id', '=', param('id'))
    .where('state', '=', 'accepted')
    .where('launch_id', '=', param('launchId'))
    .set({ state: 'written', written_at: param('at'), writing: 0 }),
);
const setConfirmed = prepareWrite(
  builder
    .updateTable('outbox')
    .where('id', '=', param('id'))
    .where('launch_id', 'is not', null) // what waits in a queue was told to nobody
    .set({ state: 'confirmed', confirmed_at: param('at'), writing: 0 }),
);
const ofLaunch = builder.selectFrom('outbox').selectAll().where('launch_id', '=', param('launchId')).orderBy('ordinal');
const inState = prepare(ofLaunch.where('state', '=', param('state')));
const byWireId = prepare(ofLaunch.where('wire_id', '=', param('wireId')));

/** See `OutboxTable`. */
export function outboxTable(db: Database, caches: RowCaches['queued'], given: GivenRows = new Map()): OutboxTable {
  const select = () => db.selectFrom('outbox').selectAll().orderBy('ordinal');
  const update = (id: string) => db.updateTable('outbox').where('id', '=', id);
  return {
    ...messageQueue(db, caches, given),
    async insert({ position = 0, state = 'accepted', ...row }: NewOutboxRow): Promise<OutboxRow> {
      if (row.launchId === null) caches.forget(row.stageId); // otherwise it is in no queue
      const writtenAt = state === 'written' ? row.createdAt : null;
      const { kind } = row.body;
      const [stored] = await insert(db, { ...row, kind, state, body: JSON.stringify(row.body), position, writtenAt });
      const fresh = { writing: false, writtenAt, confirmedAt: null, voidReason: null };
      const inserted = { ...row, ordinal: stored?.ordinal ?? 0, kind, state, position, ...fresh };
      if (row.launchId !== null) given.set(row.id, inserted);
      return inserted;
    },
    async find(id: string): Promise<OutboxRow | null> {
      const row = await select().where('id', '=', id).executeTakeFirst();
      return mapRow(row, toRow);
    },
    async findByWireId(launchId: LaunchId, wireId: string): Promise<OutboxRow | null> {
      const last = (await byWireId(db, { launchId, wireId })).at(-1);
      return mapRow(last, toRow);
    },
    async controlsSince(launchId: LaunchId, since: string): Promise<OutboxRow[]> {
      const rows = db
        .selectFrom('outbox')
        .selectAll()
        .where('launch_id', '=', launchId)
        .where('kind', '=', 'control')
        .where('state', '!=', 'void')
        .where('created_at', '>=', since)
        .orderBy('ordinal', 'desc');
      return (await rows.execute()).map(toRow);
    },
    async listOf(launchId: LaunchId, states: readonly OutboxState[]): Promise<OutboxRow[]> {
      const [state] = states;
      if (states.length === 1) return (await inState(db, { launchId, state })).map(toRow);
      return (await select().where('launch_id', '=', launchId).where('state', 'in', states).execute()).map(toRow);
    },
    async assign(id: string, launchId: LaunchId | null): Promise<void> {
      caches.forgetAll(); // whose row it is is not known here, nor below
      given.delete(id);
      await update(id).set({ launch_id: launchId, state: 'accepted', written_at: null, writing: 0 }).execute();
    },
    async setBody(id: string, body: OutboxBody): Promise<void> {
      await update(id)
        .set({ body: JSON.stringify(body) })
        .execute();
    },
    async setPosition(id: string, position: number): Promise<void> {
      await update(id).set({ position }).execute();
    },
    async setWriting(id: string): Promise<void> {
      await update(id).set({ writing: 1 }).execute();
    },
    async setWritten({ id, launchId }: Pick<OutboxRow, 'id' | 'launchId'>, at: string): Promise<void> {
      await setWritten(db, { id, launchId, at });
    },
    async setConfirmed(id: string, at: string): Promise<void> {
      given.delete(id);
      await setConfirmed(db, { id, at });
    },
    async setVoid(id: string, reason: string): Promise<void> {
      caches.forgetAll();
      given.delete(id);
      await update(id).set({ state: 'void', void_reason: reason, writing: 0 }).execute();
    },
  };
}
