import type { BoardEvent } from '@callboard/contract';
import pg from 'pg';
import type { Draft } from '../sql/draft.ts';

/** A moment of the store: its newest commit and event. */
export interface Moment {
  commit: number;
  seq: number;
}

/** A machine whose lease has ended must not write: its epoch is compared at the start of each transaction. */
export interface Fence {
  machineId: string;
  epoch: number;
}

/** A transaction whose work is done. */
export interface Done {
  draft: Draft;
  /** As it was when the transaction had taken its lock. */
  begun: Moment;
  /** The number of its commit; the one before if it has written nothing. */
  commit: number;
  events: readonly BoardEvent[];
}

/** Where others hear of commits. */
export const CHANNEL = 'callboard_commit';

/** One round trip. Each statement sees what was committed before it, so the epoch is read after the lock is taken. */
export const beginning = (fence: Fence | null): string =>
  [
    'begin',
    'select "commit", seq, version from cluster_state where id = 1 for update',
    ...(fence === null ? [] : [`select epoch from machines where id = ${pg.escapeLiteral(fence.machineId)}`]),
  ].join(';');

/** One round trip: the events, the news for others, and the commit. */
export function closing({ draft, begun, commit, events }: Done, writerId: string): string {
  const text = pg.escapeLiteral;
  const rows = events.map(
    ({ seq, at, type, data }) => `(${seq},${text(at)},${text(type)},${text(JSON.stringify(data))})`,
  );
  const given = [...draft.given.values()].filter(({ launchId }) => launchId !== null);
  const updates = given.map(({ id, launchId }) => `(${commit},${text(id)},${text(launchId ?? '')})`);
  const seq = begun.seq + events.length;
  return [
    ...(draft.isSynced() ? [] : ['set local synchronous_commit = off']),
    ...(rows.length === 0 ? [] : [`insert into events (seq, at, type, data) values ${rows.join()}`]),
    ...(updates.length === 0 ? [] : [`insert into given_rows ("commit", row_id, launch_id) values ${updates.join()}`]),
    `insert into writers (id, "commit") values (${text(writerId)}, ${commit})
       on conflict (id) do update set "commit" = excluded."commit", at = now()`,
    `update cluster_state set "commit" = ${commit}, seq = ${seq} where id = 1`,
    `select pg_notify('${CHANNEL}', '${commit}')`,
    'commit',
  ].join(';');
}
