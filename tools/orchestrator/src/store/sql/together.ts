import { isOutcomeUnknown } from '../storage-failure.ts';
import type { Tx } from '../store.ts';

type Work<T> = (tx: Tx) => Promise<T>;

interface Piece {
  /** Resolves with a function that reports the commit. */
  run: Work<() => void>;
  fail: (error: unknown) => void;
  alone: () => void;
}

/** More pieces would block the event loop for longer than five milliseconds. */
const MAX = 8;

/**
 * Runs pieces of work that arrive at the same time in one transaction: beginning and committing one costs as much as a
 * piece, and so does waking the listeners. A piece that arrives alone gets its own transaction. If one fails, each runs
 * again alone, so that none blocks another; a piece must therefore be repeatable. Where it is unknown whether they were
 * stored, none runs again.
 */
export function createBatcher(transact: <T>(work: Work<T>) => Promise<T>): <T>(work: Work<T>) => Promise<T> {
  const waiting: Piece[] = [];
  let isDue = false;

  function begin(): void {
    isDue = true;
    const taken: Piece[] = [];
    transact(async (tx) => {
      const reported: (() => void)[] = [];
      for (let piece = waiting.shift(); piece !== undefined; piece = waiting.shift()) {
        taken.push(piece);
        reported.push(await piece.run(tx));
        if (taken.length === MAX) break;
      }
      return reported;
    })
      .then((reported) => {
        for (const notify of reported) notify();
      })
      .catch((error: unknown) => {
        const failed = taken.length > 0 ? taken : waiting.splice(0, 1); // empty if the transaction could not even begin
        for (const piece of failed) {
          if (failed.length === 1 || isOutcomeUnknown(error)) piece.fail(error);
          else piece.alone();
        }
      })
      .finally(() => {
        isDue = false;
        if (waiting.length > 0) begin();
      });
  }

  return (work) =>
    new Promise((resolve, reject) => {
      waiting.push({
        run: async (tx) => {
          const done = await work(tx);
          return () => resolve(done);
        },
        fail: reject,
        alone: () => void transact(work).then(resolve, reject),
      });
      if (!isDue) begin();
    });
}
