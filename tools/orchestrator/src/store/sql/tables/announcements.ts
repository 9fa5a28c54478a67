import type { StageId } from '@callboard/contract';
import { sql } from 'kysely';
import { AnnouncementRecord, DeliveryPhase, type DeliveryRecord } from '../../announcement-records.ts';
import type { AnnouncementsTable, DeliveriesTable } from '../../ports/announcement-tables.ts';
import type { AnnouncementSchema } from '../announcement-schema.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

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
