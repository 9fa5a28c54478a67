import { z } from 'zod';
import type { PgLink } from './pg-link.ts';

const State = z.object({ commit: z.int(), seq: z.int() });
const Identity = z.object({ identity: z.string() });

/** More than can be used within the moment that a crash loses. */
export const SKIPPED = 1_000_000_000;

/**
 * Begins a new epoch of the event log if the server was started anew since the last one, has crashed, has handed over to a
 * standby, or is another one: commits that were not synced may be missing, and clients may have seen their events. The
 * numbers of commits and events skip what may have been used. Call for each new connection, before anything is written.
 */
export async function beginEpoch(link: PgLink): Promise<void> {
  const [, locked, life, now] = await link.queryAll(`begin;
    select "commit", seq from cluster_state where id = 1 for update;
    select identity from server_life;
    select (select system_identifier from pg_control_system()) || ' ' ||
      (select oid from pg_database where datname = current_database()) || ' ' ||
      extract(epoch from pg_postmaster_start_time()) as identity`);
  const { commit, seq } = State.parse(locked?.rows[0]);
  const { identity } = Identity.parse(now?.rows[0]);
  if (Identity.safeParse(life?.rows[0]).data?.identity === identity) {
    await link.queryAll('rollback');
    return;
  }
  const isNew = commit === 0 && seq === 0;
  const skip = `insert into server_starts (recovered) values (${commit}) on conflict do nothing;
    delete from events; update cluster_state set "commit" = "commit" + ${SKIPPED}, seq = seq + ${SKIPPED}`;
  await link.queryAll(
    [
      ...(isNew ? [] : [skip]),
      'delete from server_life',
      `insert into server_life (identity) values ('${identity}')`,
      'commit',
    ].join(';'),
  );
}
