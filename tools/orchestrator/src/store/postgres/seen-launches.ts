import type { LaunchId } from '@callboard/contract';
import type { OutboxRow } from '../records.ts';
import type { GivenRows } from '../sql/tables/outbox-row.ts';

export type SeenLaunches = ReturnType<typeof createSeenLaunches>;

/**
 * Knows up to which commit the accepted rows of a launch were listed by whoever writes them. A row that is in such a list must not
 * come a second time as news: the two come over different connections, in any order.
 */
export function createSeenLaunches() {
  const listed = new Map<LaunchId, number>();
  return {
    /** All accepted rows of the launch were listed as of this commit. */
    note(launchId: LaunchId, commit: number): void {
      listed.set(launchId, Math.max(commit, listed.get(launchId) ?? 0));
    },
    forget: (launchId: LaunchId) => void listed.delete(launchId),
    /** The rows that were in no list, in the order of their commits. One that is stored as written is in none of accepted ones. */
    unseen(given: readonly { commit: number; rows: GivenRows }[]): GivenRows[] {
      const isUnseen = (commit: number, { launchId, state }: OutboxRow) =>
        launchId === null || state === 'written' || commit > (listed.get(launchId) ?? 0);
      return given.map(({ commit, rows }) => new Map([...rows].filter(([, row]) => isUnseen(commit, row))));
    },
  };
}
