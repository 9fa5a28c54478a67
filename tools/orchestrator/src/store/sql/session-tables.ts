import { LaunchId, type MessageId, PhaseRun, StageId, TranscriptEntry } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { type RawBuilder, type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { createYield, mapInSlices } from '../../lib/async.ts';
import type {
  LaunchesTable,
  NewOutboxRow,
  OutboxTable,
  SessionsTable,
  TranscriptPage,
  TranscriptTable,
} from '../ports/session-port.ts';
import type { PhaseRunsTable } from '../ports/stage-port.ts';
import {
  type LaunchRecord,
  LaunchSettings,
  type MessageRow,
  type OutboxBody,
  type OutboxRow,
  type OutboxState,
  SessionRecord,
} from '../records.ts';
import type { RowCache, RowCaches } from './cached-rows.ts';
import { builder, dialectOf, param, prepare, prepareWrite } from './prepared.ts';
import { documentOf, type GivenRows, mapRow, parsedOnce, rowsThatFit, toMessage, toRow } from './rows.ts';
import type { Database, Schema } from './schema.ts';

const Identity = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string() });
const State = z.enum(['starting', 'live', 'ended']);

const toLaunch = (row: Selectable<Schema['launches']>): LaunchRecord => ({
  id: LaunchId.parse(row.id),
  stageId: StageId.parse(row.stage_id),
  state: State.parse(row.state),
  folder: row.folder,
  process: row.process === null ? null : Identity.parse(JSON.parse(row.process)),
  spoolOffset: row.spool_offset,
  createdAt: row.created_at,
  endedAt: row.ended_at,
  endReason: row.end_reason,
  settings: LaunchSettings.parse(row.settings === null ? {} : JSON.parse(row.settings)),
  leftovers: row.leftovers === null ? [] : z.array(Identity).parse(JSON.parse(row.leftovers)),
});

const setOffset = prepareWrite(
  builder
    .updateTable('launches')
    .set({ spool_offset: param<number>('offset') })
    .where('id', '=', param('id')),
);

/** Launches, oldest first. */
export function launchesTable(db: Database): LaunchesTable {
  const update = (id: LaunchId) => db.updateTable('launches').where('id', '=', id);
  return {
    async listNotEnded(): Promise<LaunchRecord[]> {
      const rows = await db.selectFrom('launches').selectAll().where('state', '!=', 'ended').orderBy('id').execute();
      return rows.map(toLaunch);
    },
    async listOf(stageId: StageId): Promise<LaunchRecord[]> {
      const rows = await db.selectFrom('launches').selectAll().where('stage_id', '=', stageId).orderBy('id').execute();
      return rows.map(toLaunch);
    },
    async find(id: LaunchId): Promise<LaunchRecord | null> {
      const row = await db.selectFrom('launches').selectAll().where('id', '=', id).executeTakeFirst();
      return mapRow(row, toLaunch);
    },
    async insert(launch: Pick<LaunchRecord, 'id' | 'stageId' | 'folder' | 'createdAt'>): Promise<void> {
      const { id, stageId, folder, createdAt } = launch;
      await db
        .insertInto('launches')
        .values({ id, stage_id: stageId, state: 'starting', folder, created_at: createdAt, spool_offset: 0 })
        .execute();
    },
    async setLive(id: LaunchId, process: ProcessIdentity, settings?: LaunchSettings): Promise<void> {
      await update(id)
        .set({
          state: 'live',
          process: JSON.stringify(process),
          ...(settings !== undefined && { settings: JSON.stringify(settings) }),
        })
        .execute();
    },
    async setOffset(id: LaunchId, offset: number): Promise<void> {
      await setOffset(db, { id, offset });
    },
    async setLeftovers(id: LaunchId, leftovers: readonly ProcessIdentity[]): Promise<void> {
      await update(id)
        .set({ leftovers: JSON.stringify(leftovers) })
        .execute();
    },
    async setEnded(id: LaunchId, at: string, reason: string): Promise<void> {
      await update(id).set({ state: 'ended', ended_at: at, end_reason: reason }).execute();
    },
  };
}

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
function messageQueue(db: Database, caches: RowCaches['queued'], given: GivenRows): MessageQueue {
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

/** See `PhaseRunsTable`. */
export function phaseRunsTable(db: Database): PhaseRunsTable {
  const newestOf = (stageId: StageId) =>
    db.selectFrom('phase_runs').where('stage_id', '=', stageId).orderBy('ordinal', 'desc').limit(1);
  return {
    async listOf(stageId: StageId): Promise<PhaseRun[]> {
      const rows = db.selectFrom('phase_runs').select('document').where('stage_id', '=', stageId);
      return (await rows.orderBy('ordinal').execute()).map(documentOf(PhaseRun));
    },
    async newest(stageId: StageId): Promise<PhaseRun | null> {
      return mapRow(await newestOf(stageId).select('document').executeTakeFirst(), documentOf(PhaseRun));
    },
    async insert(run: PhaseRun): Promise<void> {
      await db
        .insertInto('phase_runs')
        .values({ stage_id: run.stageId, document: JSON.stringify(run) })
        .execute();
    },
    async setNewest(run: PhaseRun): Promise<void> {
      const row = await newestOf(run.stageId).select('ordinal').executeTakeFirst();
      if (row === undefined) return;
      const document = JSON.stringify(run);
      await db.updateTable('phase_runs').set({ document }).where('ordinal', '=', row.ordinal).execute();
    },
  };
}

/** Each process of a shared store must read a record again that another one may have written. */
const parse = parsedOnce((text) => SessionRecord.parse(JSON.parse(text)));

const state = param('state');
const document = param('document');
const save = prepareWrite(
  builder
    .insertInto('sessions')
    .values({ stage_id: param('stageId'), state, document })
    .onConflict((conflict) => conflict.column('stage_id').doUpdateSet({ state, document })),
);

/** See `SessionsTable`. */
export function sessionsTable(db: Database, caches: RowCache<StageId, SessionRecord>): SessionsTable {
  function recordOf({ stageId, document }: { stageId: StageId; document: string }): SessionRecord {
    const saved = caches.find(stageId);
    if (saved !== undefined) return saved;
    const record = parse(stageId, document);
    caches.save(stageId, record);
    return record;
  }

  return {
    async list(): Promise<SessionRecord[]> {
      const rows = await db.selectFrom('sessions').select(['stage_id', 'document']).execute();
      return rows.map(({ stage_id, document }) => recordOf({ stageId: StageId.parse(stage_id), document }));
    },
    async find(stageId: StageId): Promise<SessionRecord | null> {
      const saved = caches.find(stageId);
      if (saved !== undefined) return saved;
      const row = await db.selectFrom('sessions').select('document').where('stage_id', '=', stageId).executeTakeFirst();
      return mapRow(row, ({ document }) => recordOf({ stageId, document }));
    },
    async save(record: SessionRecord): Promise<void> {
      await save(db, { stageId: record.stageId, state: record.state, document: JSON.stringify(record) });
      caches.save(record.stageId, record);
    },
  };
}

const toEntry = documentOf(TranscriptEntry);

const append = prepareWrite(
  builder
    .insertInto('transcript')
    .values({ stage_id: param('stageId'), index: param<number>('index'), document: param('document') }),
);

/** How many entries are searched at once. */
const SLICE = 500;

/** Transcripts, in pages. */
export function transcriptTable(db: Database): TranscriptTable {
  return {
    async append(entries: readonly TranscriptEntry[]): Promise<void> {
      for (const entry of entries) {
        await append(db, { stageId: entry.stageId, index: entry.index, document: JSON.stringify(entry) });
      }
    },
    async findMessage(stageId, messageId) {
      const id = dialectOf(db).text(sql.ref('document'), 'messageId');
      const rows = db
        .selectFrom('transcript')
        .select('document')
        .where('stage_id', '=', stageId)
        .where(id, '=', messageId);
      const found = await rows.orderBy('index', 'asc').limit(1).executeTakeFirst();
      const entry = found === undefined ? null : toEntry(found);
      return entry?.kind === 'user' ? entry : null;
    },
    async findCall(stageId, toolUseId) {
      const yieldToEventLoop = createYield();
      const entries = db.selectFrom('transcript').where('stage_id', '=', stageId);
      const newest = await entries.select((eb) => eb.fn.max('index').as('index')).executeTakeFirst();
      const place = dialectOf(db).position(sql.ref('document'), sql.val(JSON.stringify(toolUseId)));
      for (let to = newest?.index ?? -1; to >= 0; to -= SLICE) {
        await yieldToEventLoop();
        const slice = entries
          .where('index', '<=', to)
          .where('index', '>', to - SLICE)
          .where(place, '>', 0);
        for (const row of await slice.select('document').orderBy('index', 'desc').execute()) {
          const entry = toEntry(row);
          if (entry.kind === 'tool-use' && entry.toolUseId === toolUseId) return entry;
        }
      }
      return null;
    },
    async countMessages(stageId, from) {
      const kind = dialectOf(db).text(sql.ref('document'), 'kind');
      const rows = db.selectFrom('transcript').where('stage_id', '=', stageId).where('index', '>=', from);
      const counted = rows.where(kind, '=', 'user').select(({ fn }) => fn.countAll<number>().as('count'));
      return (await counted.executeTakeFirst())?.count ?? 0;
    },
    async page(stageId: StageId, { after, before, limit }: TranscriptPage): Promise<TranscriptEntry[]> {
      let query = db.selectFrom('transcript').where('stage_id', '=', stageId);
      if (after !== undefined) query = query.where('index', '>', after);
      if (before !== undefined) query = query.where('index', '<', before);
      query = query.orderBy('index', after === undefined ? 'desc' : 'asc');
      const sizes = await query.select(sql<number>`octet_length(document)`.as('bytes')).limit(limit).execute();
      const rows = await query.select('document').limit(rowsThatFit(sizes)).execute();
      const entries = await mapInSlices(rows, toEntry);
      return after === undefined ? entries.reverse() : entries;
    },
  };
}
