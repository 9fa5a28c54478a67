import type { LaunchId, MessageId, StageId } from '@callboard/contract';
import type { RawBuilder } from 'kysely';
import type { OutboxTable } from '../../ports/session-tables.ts';
import type { MessageRow } from '../../records.ts';
import type { Database } from '../database.ts';
import type { RowCaches } from '../known-rows.ts';
import { builder, param, prepare, prepareWrite } from '../prepared.ts';
import { mapRow } from './map-row.ts';
import { type GivenRows, toMessage, toRow } from './outbox-row.ts';

/** Messages that wait in the stage's queue. */
const queued = (db: Database, stageId: StageId | RawBuilder<string>) =>
  db
    .selectFrom('outbox')
    .where('stage_id', '=', stageId)
    .where('kind', '=', 'message')
    .where('state', '=', 'accepted')
    .where('launch_id', 'is', null);

const queueOf = prepare(queued(builder, param('stageId')).selectAll().orderBy('position').orderBy('ordinal'));
const countQueued = prepare(queued(builder, param('stageId')).select((eb) => eb.fn.countAll<number>().as('count')));
const lastPosition = prepare(
  builder
    .selectFrom('outbox')
    .select((eb) => eb.fn.max('position').as('position'))
    .where('stage_id', '=', param('stageId')),
);
const give = prepareWrite(
  builder
    .updateTable('outbox')
    .where('id', '=', param('id'))
    .set({ launch_id: param('launchId'), state: 'accepted', written_at: null, writing: 0, body: param('body') }),
);
const unreadOf = prepare(
  builder
    .selectFrom('outbox')
    .where('launch_id', '=', param('launchId'))
    .where('kind', '=', 'message')
    .where('state', 'in', ['accepted', 'written'])
    .select((eb) => eb.fn.countAll<number>().as('count')),
);

type MessageQueue = Pick<
  OutboxTable,
  'queueOf' | 'countQueued' | 'countUnread' | 'lastPosition' | 'findQueued' | 'findMessage' | 'give'
>;

/** The messages among the outbox's rows. */
export function messageQueue(db: Database, caches: RowCaches['queued'], given: GivenRows): MessageQueue {
  return {
    async queueOf(stageId: StageId): Promise<MessageRow[]> {
      if (caches.find(stageId) === 0) return [];
      return (await queueOf(db, { stageId })).map(toRow).map(toMessage);
    },
    async countQueued(stageId: StageId): Promise<number> {
      const count = caches.find(stageId) ?? (await countQueued(db, { stageId }))[0]?.count ?? 0;
      caches.save(stageId, count);
      return count;
    },
    async countUnread(launchId: LaunchId): Promise<number> {
      return (await unreadOf(db, { launchId }))[0]?.count ?? 0;
    },
    async lastPosition(stageId: StageId): Promise<number> {
      return (await lastPosition(db, { stageId }))[0]?.position ?? 0;
    },
    async findQueued(stageId: StageId, messageId: MessageId): Promise<MessageRow | null> {
      const row = await queued(db, stageId).selectAll().where('wire_id', '=', messageId).executeTakeFirst();
      return mapRow(row, (found) => toMessage(toRow(found)));
    },
    async findMessage(stageId: StageId, messageId: MessageId): Promise<MessageRow | null> {
      const row = await db
        .selectFrom('outbox')
        .selectAll()
        .orderBy('ordinal')
        .where('stage_id', '=', stageId)
        .where('wire_id', '=', messageId)
        .where('kind', '=', 'message')
        .executeTakeFirst();
      return mapRow(row, (found) => toMessage(toRow(found)));
    },
    async give(row: MessageRow, launchId: LaunchId, body: MessageRow['body']): Promise<void> {
      caches.forget(row.stageId);
      await give(db, { id: row.id, launchId, body: JSON.stringify(body) });
      given.set(row.id, { ...row, launchId, body, state: 'accepted', writtenAt: null, writing: false });
    },
  };
}
