import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type BoardView, foldBoard, type StageId } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { insist } from './people.ts';

/** A client that knows the board through the event stream alone, over lost connections and restarts. */
export interface Onlooker {
  readonly events: () => number;
  /** How many pieces of a stage's live text have come. */
  readonly pieces: (stageId: StageId) => number;
  /** Waits until the board built from the events can be compared with the real one; returns all differences, in words. */
  compare(signal: AbortSignal): Promise<string[]>;
}

/**
 * Watches until the signal aborts; no event may be missing or come twice.
 * @param mayResync whether the numbers may begin anew, as when the database was killed with commits that nobody had waited for
 */
export async function checkOn(transport: Transport, signal: AbortSignal, mayResync = false): Promise<Onlooker> {
  const load = () => insist(signal, () => transport.command('get_board', {}));
  const wrong: string[] = [];
  let board: BoardView = await load();
  let events = 0;
  const pieces = new Map<StageId, number>();
  /** The board that was loaded after a resync knows these. */
  let known = 0;

  async function check(): Promise<void> {
    for await (const item of transport.events({ since: board.seq }, signal)) {
      if (item.type === 'resync') {
        if (!mayResync) wrong.push('a resync, though nothing was pruned');
        board = await load();
        known = board.seq;
      }
      if (item.type === 'text-delta') pieces.set(item.data.stageId, (pieces.get(item.data.stageId) ?? 0) + 1);
      if (!('seq' in item) || item.seq <= known) continue;
      if (item.seq !== board.seq + 1) wrong.push(`event ${item.seq} where ${board.seq + 1} was due`);
      board = foldBoard(board, item);
      events += 1;
    }
  }

  const watching = check();
  watching.catch((error: unknown) => wrong.push(`the stream failed: ${String(error)}`));
  return {
    events: () => events,
    pieces: (stageId) => pieces.get(stageId) ?? 0,
    async compare(within) {
      for (;;) {
        const real = await insist(within, () => transport.command('get_board', {}));
        const behind = (cause: unknown) =>
          new Error(`an onlooker has heard of event ${board.seq}, and not of ${real.seq}`, { cause });
        while (board.seq < real.seq && wrong.length === 0)
          await sleep(20, undefined, { signal: within }).catch((cause: unknown) => Promise.reject(behind(cause)));
        if (board.seq > real.seq) continue; // something happened meanwhile
        if (!isDeepStrictEqual(board.stages, real.stages))
          wrong.push('the events make another board than the real one');
        return wrong;
      }
    },
  };
}
