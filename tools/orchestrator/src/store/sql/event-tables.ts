import { BoardEvent, type NewEvent, PageKey, type StageId } from '@callboard/contract';
import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { mapInSlices } from '../../lib/async.ts';
import {
  AnnouncementRecord,
  type AnnouncementsTable,
  type ClockTable,
  type DeliveriesTable,
  DeliveryPhase,
  type DeliveryRecord,
  type EventsTable,
  type LoginPage,
  type LoginRecord,
  type LoginsTable,
  type LoginTerminal,
  PushDeviceRecord,
  type PushKeys,
  type PushTable,
  type RetainedEvents,
  WebhookRecord,
  type WebhooksTable,
} from '../ports/event-port.ts';
import { builder, dialectOf, param, prepare } from './prepared.ts';
import { documentOf, mapRow, rowsThatFit } from './rows.ts';
import type { AnnouncementSchema, Database, Schema } from './schema.ts';

const toAnnouncement = documentOf(AnnouncementRecord);

/** See `AnnouncementsTable`. */
export function announcementsTable(db: Database): AnnouncementsTable {
  const find = async (key: string): Promise<AnnouncementRecord | null> =>
    mapRow(
      await db.selectFrom('announcements').select('document').where('key', '=', key).executeTakeFirst(),
      toAnnouncement,
    );
  return {
    find,
    async listOpen(stageId?: StageId): Promise<AnnouncementRecord[]> {
      const open = db.selectFrom('announcements').select('document').where('settled_at', 'is', null).orderBy('ordinal');
      return (await (stageId === undefined ? open : open.where('stage_id', '=', stageId)).execute()).map(
        toAnnouncement,
      );
    },
    async insert(announcement: AnnouncementRecord): Promise<boolean> {
      const { key, stageId: stage_id, settledAt: settled_at } = announcement;
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('announcements')
        .values({ key, stage_id, settled_at, document: JSON.stringify(announcement) })
        .onConflict((conflict) => conflict.column('key').doNothing())
        .executeTakeFirst();
      return (numInsertedOrUpdatedRows ?? 0n) > 0n;
    },
    async settle(key: string, at: string): Promise<void> {
      const found = await find(key);
      if (found === null) return;
      const document = JSON.stringify({ ...found, settledAt: at });
      await db.updateTable('announcements').set({ settled_at: at, document }).where('key', '=', key).execute();
    },
    async forgetSettledBefore(instant: string): Promise<void> {
      await db.deleteFrom('announcements').where('settled_at', '<', instant).execute();
    },
  };
}

/** See `DeliveriesTable`. */
export function deliveriesTable(db: Database): DeliveriesTable {
  const all = () => db.selectFrom('deliveries').selectAll();
  return {
    async insert({ announcementKey, channel, target, phase, dueAt }): Promise<void> {
      await db
        .insertInto('deliveries')
        .values({ announcement_key: announcementKey, channel, target, phase, state: 'queued', due_at: dueAt })
        .onConflict((conflict) => conflict.columns(['announcement_key', 'channel', 'target', 'phase']).doNothing())
        .execute();
    },
    async listOf(announcementKey: string): Promise<DeliveryRecord[]> {
      return (await all().where('announcement_key', '=', announcementKey).orderBy('id').execute()).map(toDelivery);
    },
    async listNext(): Promise<DeliveryRecord[]> {
      const place = sql<number>`row_number() over (partition by channel, target order by due_at, id)`;
      const placed = db
        .selectFrom('deliveries')
        .select(['id', place.as('place')])
        .where('state', '=', 'queued')
        .as('placed');
      const first = db.selectFrom(placed).select('placed.id').where('placed.place', '=', 1);
      return (await all().where('id', 'in', first).orderBy('due_at').orderBy('id').execute()).map(toDelivery);
    },
    async listTo(channel: string, target: string, limit: number): Promise<DeliveryRecord[]> {
      const found = all().where('channel', '=', channel).where('target', '=', target).orderBy('id', 'desc');
      return (await found.limit(limit).execute()).map(toDelivery);
    },
    async find(id: number): Promise<DeliveryRecord | null> {
      return mapRow(await all().where('id', '=', id).executeTakeFirst(), toDelivery);
    },
    async update(id, { dueAt, triedAt, ...fields }): Promise<void> {
      const due = dueAt === undefined ? {} : { due_at: dueAt };
      const tried = triedAt === undefined ? {} : { tried_at: triedAt };
      await db
        .updateTable('deliveries')
        .set({ ...fields, ...due, ...tried })
        .where('id', '=', id)
        .execute();
    },
  };
}

type Row = Omit<AnnouncementSchema['deliveries'], 'id' | 'attempts'> & { id: number; attempts: number };

const toDelivery = ({ announcement_key, due_at, tried_at, phase, ...row }: Row): DeliveryRecord => ({
  ...row,
  announcementKey: announcement_key,
  phase: DeliveryPhase.parse(phase),
  dueAt: due_at,
  triedAt: tried_at,
});

const NAME = 'lived-until';

/** See `ClockTable`. Kept in `counters`, as milliseconds since the epoch. */
export function clockTable(db: Database): ClockTable {
  async function livedUntil(): Promise<string | null> {
    const row = await db.selectFrom('counters').select('value').where('name', '=', NAME).executeTakeFirst();
    return mapRow(row, ({ value }) => new Date(value).toISOString());
  }

  return {
    livedUntil,
    async advance(now: string, elapsedMs: number): Promise<string> {
      const today = Date.parse(now);
      const known = await livedUntil();
      const lived = known === null ? Math.min(today, await newestEvent(today)) : Date.parse(known);
      const value = Math.floor(Math.max(lived, Math.min(today, lived + elapsedMs)));
      await db
        .insertInto('counters')
        .values({ name: NAME, value })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
        .execute();
      return new Date(value).toISOString();
    },
    async stamp(now: string): Promise<string> {
      const lived = await livedUntil();
      return lived !== null && lived > now ? lived : now;
    },
  };

  async function newestEvent(otherwise: number): Promise<number> {
    const row = await db.selectFrom('events').select('at').orderBy('seq', 'desc').limit(1).executeTakeFirst();
    return row === undefined ? otherwise : Date.parse(row.at);
  }
}

const append = prepare(
  builder
    .insertInto('events')
    .values({ at: param('at'), type: param('type'), data: param('data') })
    .returning('seq'),
);

/** Adds an event to SQLite's log, which numbers it. */
export async function appendEvent(db: Database, event: NewEvent, at: string): Promise<BoardEvent> {
  const [row] = await append(db, { at, type: event.type, data: JSON.stringify(event.data) });
  return { ...event, seq: row?.seq ?? 0, at };
}

/** See `EventsTable`. */
export function eventsTable(db: Database): EventsTable {
  const lastSeq = () => dialectOf(db).lastSeq(db);

  /** The newest event that does not fit the newest `bytes` of data; 0 if all fit. */
  async function lastBeyond(bytes: number): Promise<number> {
    const sizes = db
      .selectFrom('events')
      .select(['seq', sql<number>`sum(octet_length(data)) over (order by seq desc)`.as('total')]);
    const row = await db
      .selectFrom(sizes.as('sizes'))
      .select((eb) => eb.fn.max('seq').as('seq'))
      .where('total', '>', bytes)
      .executeTakeFirst();
    return row?.seq ?? 0;
  }

  return {
    lastSeq,
    async prune({ save, retainBytes, olderThan }: RetainedEvents): Promise<void> {
      const last = await lastSeq();
      // Everything before the first young event, so an event written while the clock was wrong does not remove others.
      const young = await db
        .selectFrom('events')
        .select((eb) => eb.fn.min('seq').as('seq'))
        .where('at', '>=', olderThan)
        .executeTakeFirst();
      const old = (young?.seq ?? last) - 1;
      const until = Math.min(last - 1, Math.max(last - save, old, await lastBeyond(retainBytes)));
      await db.deleteFrom('events').where('seq', '<=', until).execute();
    },
    async since(seq: number, limit: number): Promise<BoardEvent[]> {
      const query = db.selectFrom('events').where('seq', '>', seq).orderBy('seq');
      const sizes = await query.select(sql<number>`octet_length(data)`.as('bytes')).limit(limit).execute();
      const rows = await query.selectAll().limit(rowsThatFit(sizes)).execute();
      return mapInSlices(rows, (row) => BoardEvent.parse({ ...row, data: JSON.parse(row.data) }));
    },
  };
}

const Kind = z.enum(['code', 'session', 'token', 'metrics']);

const toLogin = (row: Selectable<Schema['logins']>): LoginRecord => ({
  secretHash: row.secret_hash,
  kind: Kind.parse(row.kind),
  name: row.name,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  page: toPage(row),
  terminal: toTerminal(row),
});

function toPage({ login_id, page_key, origin, browser }: Selectable<Schema['logins']>): LoginPage | null {
  if (login_id === null || page_key === null || origin === null) return null;
  return { loginId: login_id, key: PageKey.parse(JSON.parse(page_key)), origin, browser: browser ?? '' };
}

const toTerminal = ({ kind, login_id, browser }: Selectable<Schema['logins']>): LoginTerminal | null =>
  (kind === 'token' || kind === 'metrics') && login_id !== null ? { loginId: login_id, name: browser ?? '' } : null;

/** Who may use Callboard, by the hash of their secret. */
export function loginsTable(db: Database): LoginsTable {
  return {
    async find(secretHash: string): Promise<LoginRecord | null> {
      const row = await db.selectFrom('logins').selectAll().where('secret_hash', '=', secretHash).executeTakeFirst();
      return mapRow(row, toLogin);
    },
    async findById(loginId: string): Promise<LoginRecord | null> {
      const row = await db.selectFrom('logins').selectAll().where('login_id', '=', loginId).executeTakeFirst();
      return mapRow(row, toLogin);
    },
    async list(): Promise<LoginRecord[]> {
      const rows = await db
        .selectFrom('logins')
        .selectAll()
        .where('kind', 'in', ['session', 'token', 'metrics'])
        .orderBy('created_at', 'desc')
        .execute();
      return rows.map(toLogin);
    },
    async save(login: LoginRecord): Promise<void> {
      await db
        .insertInto('logins')
        .values({
          secret_hash: login.secretHash,
          kind: login.kind,
          name: login.name,
          created_at: login.createdAt,
          expires_at: login.expiresAt,
          login_id: login.page?.loginId ?? login.terminal?.loginId ?? null,
          page_key: login.page === null ? null : JSON.stringify(login.page.key),
          origin: login.page?.origin ?? null,
          browser: login.page?.browser ?? login.terminal?.name ?? null,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async remove(secretHash: string): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom('logins')
        .where('secret_hash', '=', secretHash)
        .executeTakeFirstOrThrow();
      return numDeletedRows === 1n;
    },
    async removeExpired(instant: string): Promise<void> {
      await db.deleteFrom('logins').where('expires_at', '<=', instant).execute();
    },
  };
}

const toDevice = documentOf(PushDeviceRecord);

/** See `PushTable`. */
export function pushTable(db: Database): PushTable {
  return {
    async keys(): Promise<PushKeys | null> {
      const row = await db.selectFrom('push_keys').selectAll().executeTakeFirst();
      return mapRow(row, ({ public_key, private_key }) => ({ publicKey: public_key, privateKey: private_key }));
    },
    async saveKeys({ publicKey, privateKey }: PushKeys): Promise<void> {
      await db.insertInto('push_keys').values({ id: 1, public_key: publicKey, private_key: privateKey }).execute();
    },
    async listDevices(): Promise<PushDeviceRecord[]> {
      return (await db.selectFrom('push_devices').select('document').orderBy('ordinal').execute()).map(toDevice);
    },
    async findDevice(deviceId: string): Promise<PushDeviceRecord | null> {
      const row = await db.selectFrom('push_devices').select('document').where('id', '=', deviceId).executeTakeFirst();
      return mapRow(row, toDevice);
    },
    async saveDevice(device: PushDeviceRecord): Promise<void> {
      const { deviceId: id, subscription } = device;
      const fields = { id, document: JSON.stringify(device) };
      await db
        .insertInto('push_devices')
        .values({ ...fields, endpoint: subscription.endpoint })
        .onConflict((conflict) => conflict.column('endpoint').doUpdateSet(fields))
        .execute();
    },
    async removeDevice(deviceId: string): Promise<void> {
      await db.deleteFrom('push_devices').where('id', '=', deviceId).execute();
    },
  };
}

const toWebhook = documentOf(WebhookRecord);

/** See `WebhooksTable`. */
export function webhooksTable(db: Database): WebhooksTable {
  return {
    async list(): Promise<WebhookRecord[]> {
      return (await db.selectFrom('webhooks').select('document').orderBy('ordinal').execute()).map(toWebhook);
    },
    async find(webhookId: string): Promise<WebhookRecord | null> {
      const row = await db.selectFrom('webhooks').select('document').where('id', '=', webhookId).executeTakeFirst();
      return mapRow(row, toWebhook);
    },
    async save(webhook: WebhookRecord): Promise<void> {
      const document = JSON.stringify(webhook);
      await db
        .insertInto('webhooks')
        .values({ id: webhook.webhookId, document })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ document }))
        .execute();
    },
    async remove(webhookId: string): Promise<void> {
      await db.deleteFrom('webhooks').where('id', '=', webhookId).execute();
    },
  };
}
