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
    error: string | null;
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
