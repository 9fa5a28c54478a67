import type { GivenRows } from '../sql/tables/outbox-row.ts';

/**
 * The rows of own commits that wait for the commits of others before them. A query finds the accepted ones; those that are stored as
 * written are known to this process alone, which has not written them yet.
 */
export function createLateRows() {
  const late = new Map<number, GivenRows>();
  return {
    keep(commit: number, given: GivenRows): void {
      const written = [...given].filter(([, { state }]) => state === 'written');
      if (written.length > 0) late.set(commit, new Map(written));
    },
    /** What was read of commits up to one of them, with the rows that are kept, in the order of the commits. */
    among(read: ReadonlyMap<number, GivenRows>, until: number): { commit: number; rows: GivenRows }[] {
      const all = new Map(read);
      for (const [commit, rows] of late)
        if (commit <= until) all.set(commit, new Map([...(all.get(commit) ?? []), ...rows]));
      return [...all].map(([commit, rows]) => ({ commit, rows })).toSorted((a, b) => a.commit - b.commit);
    },
    /** Those up to this commit are passed on. */
    forget(until: number): void {
      for (const commit of late.keys()) if (commit <= until) late.delete(commit);
    },
  };
}
