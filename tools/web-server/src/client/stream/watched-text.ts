import { StageId } from '@callboard/contract';
import { createStreamWatch, serviceRoutes } from '@callboard/contract/client';
import { client } from '../lib/api-client.ts';
import type { StreamStore } from './stream-store.ts';
import { addDeltas } from './streaming-text.ts';

const MAX_PAUSE_MS = 5_000;

/**
 * Tells the server which stages' streaming text this browser wants, for as long as a stream is open. Until that succeeds, text
 * appears once it is complete: no reason for an error message.
 * @param reopen opens the stream anew: another web server answers now than the one that holds it
 */
export function createTextSubscription(reopen: () => void) {
  const watch = createStreamWatch({
    put: (streamId, stageIds, signal) => client.call(serviceRoutes.watch, { streamId, stageIds }, { signal }),
    maxPauseMs: MAX_PAUSE_MS,
  });
  let streamId: string | undefined;
  let wanted: string[] = [];

  function streamLost(): void {
    if (streamId !== undefined) watch.ended(streamId);
    streamId = undefined;
  }

  return {
    streamOpened(id: string): void {
      streamLost();
      streamId = id;
      watch.opened(id, reopen);
    },
    streamLost,
    want(stageIds: string[]): void {
      if (stageIds.join() === wanted.join()) return;
      wanted = stageIds;
      void watch.want(stageIds).catch(() => undefined);
    },
  };
}

/** Counts how many components of this page watch each stage, and reports each change of the set. */
export function countWatchers(changed: (stageIds: string[]) => void) {
  const watchers = new Map<string, number>();
  function add(stageId: StageId, change: number): void {
    const count = (watchers.get(stageId) ?? 0) + change;
    if (count > 0) watchers.set(stageId, count);
    else watchers.delete(stageId);
    changed([...watchers.keys()]);
  }
  return { add, stageIds: () => [...watchers.keys()] };
}

/**
 * Fetches streaming text from its beginning, for a page that opens or comes back in the middle of a block. If that
 * fails, the rest is shown as it arrives, and the whole text once it is stored.
 */
export function createTextBackfill(store: StreamStore) {
  const fetching = new Set<string>();
  /** Blocks without a known beginning. Each is requested once. */
  const requested = new Set<string>();

  async function fetchText(stageId: string): Promise<void> {
    if (fetching.has(stageId)) return;
    fetching.add(stageId);
    try {
      const { blocks } = await client.command('get_live_text', { stageId: StageId.parse(stageId) });
      store.setState(({ text }) => ({ text: addDeltas(text, blocks) }));
    } catch {
      // The rest is shown as it arrives.
    } finally {
      fetching.delete(stageId);
    }
  }

  const unsubscribe = store.subscribe(({ text }, before) => {
    if (text === before.text) return;
    for (const [stageId, blocks] of Object.entries(text)) {
      const incomplete = blocks.filter(({ blockId, start }) => start > 0 && !requested.has(`${blockId} ${start}`));
      for (const { blockId, start } of incomplete) requested.add(`${blockId} ${start}`);
      if (incomplete.length > 0) void fetchText(stageId);
    }
  });

  return { fetch: fetchText, stop: unsubscribe };
}
