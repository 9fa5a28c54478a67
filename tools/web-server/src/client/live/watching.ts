import type { StageId } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import { client } from '../lib/api.ts';

/** Tells the server which stages' text is wanted while it is written, for as long as a stream is open. */
export function createWatching() {
  let streamId: string | undefined;
  let wanted: string[] = [];

  async function send(): Promise<void> {
    if (streamId === undefined) return;
    const request = client.call(serviceRoutes.watch, { streamId, stageIds: wanted });
    // Without it, text appears when it is complete: no reason to trouble anybody.
    await request.catch(() => undefined);
  }

  return {
    streamOpened(id: string): void {
      streamId = id;
      if (wanted.length > 0) void send();
    },
    streamLost(): void {
      streamId = undefined;
    },
    want(stageIds: string[]): void {
      if (stageIds.join() === wanted.join()) return;
      wanted = stageIds;
      void send();
    },
  };
}

/** How many parts of this page look at each stage. */
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
