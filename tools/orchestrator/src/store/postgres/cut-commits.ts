import pg from 'pg';
import { z } from 'zod';
import { outcomeUnknown, type StorageError, storageErrorOf, storageFailed } from '../storage-failure.ts';
import type { Done } from './commit-statements.ts';
import type { PgLink } from './pg-link.ts';

const Commit = z.object({ commit: z.int() });

const UNKNOWN: StorageError = {
  isDiskFull: false,
  isDoubtful: false,
  isLasting: false,
  text: 'the database cannot be reached.',
};

/**
 * Finds out what became of a commit whose connection was cut while it ran. The row of this process in `writers` tells it, once
 * the lock is free: nobody else changes that row.
 * @param notifyOf tells the listeners of a commit that was made
 */
export function createCutCommits(writerId: string, notifyOf: (done: Done) => Promise<void>) {
  let open: { commit: number; settle: (isCommitted: boolean) => Promise<void>; giveUp: () => void } | null = null;
  let isOver = false;

  function giveUp(): void {
    isOver = true;
    open?.giveUp();
    open = null;
  }

  return {
    /** Whether it is unknown what became of a commit. */
    isOpen: () => open !== null,
    /**
     * Resolves when the next connection tells that it was committed.
     * @throws OperationalError `storage_failed` if it was not; `no_confirmation` if the store is closed before anybody knows
     */
    later<T>(done: Done, value: T, cause: unknown): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      promise.catch(() => undefined); // whoever began the transaction gets it
      open = {
        commit: done.commit,
        async settle(isCommitted) {
          if (!isCommitted) return reject(storageFailed(storageErrorOf(cause) ?? UNKNOWN, cause));
          await notifyOf(done);
          resolve(value);
        },
        giveUp: () => reject(outcomeUnknown(cause)),
      };
      if (isOver) giveUp();
      return promise;
    },
    /** For each new connection: registers this process, and settles what is open. */
    async greet(link: PgLink): Promise<void> {
      const id = pg.escapeLiteral(writerId);
      const [, , added, row] = await link.queryAll(`begin; select 1 from cluster_state where id = 1 for update;
        insert into writers (id, "commit") values (${id}, 0) on conflict do nothing;
        select "commit" from writers where id = ${id}; commit`);
      const settled = open;
      open = null;
      // A row that was forgotten tells nothing.
      if (added?.rowCount === 1) settled?.giveUp();
      else await settled?.settle(Commit.parse(row?.rows[0]).commit === settled.commit);
    },
    /** No connection will come any more that could tell what became of it, now or later. */
    giveUp,
  };
}
