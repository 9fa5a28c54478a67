import type { Generated } from 'kysely';

/** The columns of the tables about what people are told. */
export interface AnnouncementSchema {
  announcements: {
    ordinal: Generated<number>;
    key: string;
    stage_id: string;
    settled_at: string | null;
    /** An `AnnouncementRecord`, whole. */
    document: string;
  };
  deliveries: {
    id: Generated<number>;
    announcement_key: string;
    channel: string;
    target: string;
    /** A `DeliveryPhase`. */
    phase: string;
    state: 'queued' | 'sent' | 'dropped';
    attempts: Generated<number>;
    due_at: string;
    tried_at: string | null;
    error: string | null;
    receipt: string | null;
  };
  webhooks: {
    ordinal: Generated<number>;
    id: string;
    /** A `WebhookRecord`, whole, with its secrets. */
    document: string;
  };
  push_keys: { id: number; public_key: string; private_key: string };
  push_devices: {
    ordinal: Generated<number>;
    id: string;
    endpoint: string;
    /** A `PushDeviceRecord`, whole. */
    document: string;
  };
}

/** Adds calls to the outside, and what became of each. */
export const webhookStatements = [
  `create table webhooks (ordinal integer primary key autoincrement, id text not null unique, document text not null)`,
  `alter table deliveries add column tried_at text`,
  `alter table deliveries add column receipt text`,
  `create index deliveries_to on deliveries(channel, target)`,
];
