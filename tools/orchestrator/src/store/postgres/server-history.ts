import { z } from 'zod';
import { DatabaseUnreachable, isNotAvailable } from '../storage-failure.ts';

const History = z.object({ system: z.string(), timeline: z.int() });

/** A standby that takes over begins a new timeline of the same system, while a server from before that stays on the old one. */
const SELECT = `select system_identifier::text as system,
  ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int as timeline from pg_control_system()`;

interface Asked {
  query(query: { text: string }): Promise<{ rows: unknown[] }>;
}

export interface ServerHistory {
  /** Whether no server has answered yet. */
  isEmpty(): boolean;
  /**
   * Notes where a server that takes writes is in the history of its system. One that does not tell this account counts as current.
   * @throws DatabaseUnreachable if a later server was seen: this one lacks what was stored since a fail-over
   */
  require(link: Asked): Promise<void>;
}

/** Remembers the newest of several servers, for as long as this process lives. */
export function createServerHistory(): ServerHistory {
  const newest = new Map<string, number>();
  return {
    isEmpty: () => newest.size === 0,
    async require(link) {
      const { rows } = await link.query({ text: SELECT }).catch((error: unknown) => {
        if (isNotAvailable(error)) return { rows: [] };
        throw error;
      });
      if (rows.length === 0) return;
      const { system, timeline } = History.parse(rows[0]);
      if (timeline < (newest.get(system) ?? 0)) throw new DatabaseUnreachable('it is from before a fail-over');
      newest.set(system, timeline);
    },
  };
}
