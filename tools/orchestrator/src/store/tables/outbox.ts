import { LaunchId, MessageId, StageId } from '@callboard/contract';
import type { RawBuilder, Selectable } from 'kysely';
import { z } from 'zod';
import type { Database } from '../database.ts';
import { builder, param, prepare } from '../prepared.ts';
import { type MessageRow, OutboxBody, type OutboxRow, type OutboxState } from '../records.ts';
import type { OutboxTable } from '../schema.ts';

const Kind = z.enum(['message', 'answer', 'control']);
const State = z.enum(['accepted', 'written', 'confirmed', 'void']);

const toRow = (row: Selectable<OutboxTable>): OutboxRow => ({
  ordinal: row.ordinal,
  id: row.id,
  stageId: StageId.parse(row.stage_id),
  launchId: row.launch_id === null ? null : LaunchId.parse(row.launch_id),
  kind: Kind.parse(row.kind),
  state: State.parse(row.state),
  wireId: row.wire_id,
  body: OutboxBody.parse(JSON.parse(row.body)),
  actor: row.actor,
  position: row.position,
  writing: row.writing === 1,
  createdAt: row.created_at,
  writtenAt: row.written_at,
  confirmedAt: row.confirmed_at,
  voidReason: row.void_reason,
});

function toMessage(row: OutboxRow): MessageRow {
  if (row.body.kind !== 'message') throw new TypeError(`outbox row ${row.id} is no message`);
  return { ...row, wireId: MessageId.parse(row.wireId), body: row.body };
}

export type NewOutboxRow = Pick<
  OutboxRow,
  'id' | 'stageId' | 'launchId' | 'wireId' | 'body' | 'actor' | 'createdAt'
> & {
  position?: number;
  /** `written` for a control request that its writer writes right after the commit. */
  state?: 'accepted' | 'written';
};

/** The rows that a transaction gives to launches, by id: their writers get them right after the commit. */
export type GivenRows = Map<string, OutboxRow>;

/** Messages of the stage that wait. */
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
const give = prepare(
  builder
    .updateTable('outbox')
    .where('id', '=', param('id'))
    .set({ launch_id: param('launchId'), state: 'accepted', written_at: null, writing: 0, body: param('body') }),
);
const setWritten = prepare(
  builder
    .updateTable('outbox')
    .where('id', '=', param('id'))
    .where('state', '=', 'accepted')
    .where('launch_id', '=', param('launchId'))
    .set({ state: 'written', written_at: param('at'), writing: 0 }),
);
const setConfirmed = prepare(
  builder
    .updateTable('outbox')
    .where('id', '=', param('id'))
    .set({ state: 'confirmed', confirmed_at: param('at'), writing: 0 }),
);
const unreadOf = prepare(
  builder
    .selectFrom('outbox')
    .where('launch_id', '=', param('launchId'))
    .where('kind', '=', 'message')
    .where('state', 'in', ['accepted', 'written'])
    .select((eb) => eb.fn.countAll<number>().as('count')),
);
const byWireId = prepare(
  builder
    .selectFrom('outbox')
    .selectAll()
    .where('launch_id', '=', param('launchId'))
    .where('wire_id', '=', param('wireId'))
    .orderBy('ordinal'),
);

/** Everything that is to be written to a launch, or was; and the messages that wait for one. */
export function outboxTable(db: Database, given: GivenRows = new Map()) {
  const select = () => db.selectFrom('outbox').selectAll().orderBy('ordinal');
  const update = (id: string) => db.updateTable('outbox').where('id', '=', id);
  return {
    async insert({ position = 0, state = 'accepted', ...row }: NewOutboxRow): Promise<OutboxRow> {
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
      return row === undefined ? null : toRow(row);
    },
    /** The newest row of that wire id that belongs to the launch. */
    async findByWireId(launchId: LaunchId, wireId: string): Promise<OutboxRow | null> {
      const last = (await byWireId(db, { launchId, wireId })).at(-1);
      return last === undefined ? null : toRow(last);
    },
    /** The control requests that were put into the launch's outbox since then and were not dropped, the newest first. */
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
    /** The rows of a launch in one of these states, in the order in which they are to be written. */
    async listOf(launchId: LaunchId, states: readonly OutboxState[]): Promise<OutboxRow[]> {
      return (await select().where('launch_id', '=', launchId).where('state', 'in', states).execute()).map(toRow);
    },
    /** How many messages were given to the launch that it has not begun to work on. */
    async countUnread(launchId: LaunchId): Promise<number> {
      return (await unreadOf(db, { launchId }))[0]?.count ?? 0;
    },
    /** The stage's queue, in order: messages that were accepted and belong to no launch yet. */
    async queueOf(stageId: StageId): Promise<MessageRow[]> {
      return (await queueOf(db, { stageId })).map(toRow).map(toMessage);
    },
    async countQueued(stageId: StageId): Promise<number> {
      return (await countQueued(db, { stageId }))[0]?.count ?? 0;
    },
    /** The highest place that a message of the stage ever had; 0 before the first. */
    async lastPosition(stageId: StageId): Promise<number> {
      return (await lastPosition(db, { stageId }))[0]?.position ?? 0;
    },
    async findQueued(stageId: StageId, messageId: MessageId): Promise<MessageRow | null> {
      const row = await queued(db, stageId).selectAll().where('wire_id', '=', messageId).executeTakeFirst();
      return row === undefined ? null : toMessage(toRow(row));
    },
    /** The message that was given to this stage under that id, whatever became of it. */
    async findMessage(stageId: StageId, messageId: MessageId): Promise<MessageRow | null> {
      const rows = select().where('stage_id', '=', stageId).where('wire_id', '=', messageId);
      const row = await rows.where('kind', '=', 'message').executeTakeFirst();
      return row === undefined ? null : toMessage(toRow(row));
    },
    /** Gives a message of the queue to a launch, with its body as it is from now on. */
    async give(row: MessageRow, launchId: LaunchId, body: MessageRow['body']): Promise<void> {
      await give(db, { id: row.id, launchId, body: JSON.stringify(body) });
      given.set(row.id, { ...row, launchId, body, state: 'accepted', writtenAt: null, writing: false });
    },
    /** Puts it into the queue, or into the outbox of a launch that is only begun: that one's writer looks for its rows. */
    async assign(id: string, launchId: LaunchId | null): Promise<void> {
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
    /**
     * Does not touch a row that is confirmed or void by now (the echo may overtake the writer's own bookkeeping), nor one
     * that went back to the queue or to another launch meanwhile.
     */
    async setWritten({ id, launchId }: Pick<OutboxRow, 'id' | 'launchId'>, at: string): Promise<void> {
      await setWritten(db, { id, launchId, at });
    },
    async setConfirmed(id: string, at: string): Promise<void> {
      given.delete(id);
      await setConfirmed(db, { id, at });
    },
    async setVoid(id: string, reason: string): Promise<void> {
      given.delete(id);
      await update(id).set({ state: 'void', void_reason: reason, writing: 0 }).execute();
    },
  };
}
