import { StageId } from '@callboard/contract';
import { client } from '../lib/api.ts';
import { addDeltas } from './live-text.ts';
import type { LiveStore } from './state.ts';

/**
 * Fetches what is being written just now from its beginning: for a page that opens, or comes back, in the middle of it.
 * Where that fails the rest is shown as it comes, and all of it once it is stored.
 */
export function createWholeText(store: LiveStore) {
  const fetching = new Set<string>();
  /** Blocks whose beginning nobody has: asked for once. */
  const asked = new Set<string>();

  async function fetchWhole(stageId: string): Promise<void> {
    if (fetching.has(stageId)) return;
    fetching.add(stageId);
    try {
      const { blocks } = await client.command('get_live_text', { stageId: StageId.parse(stageId) });
      store.setState(({ text }) => ({ text: addDeltas(text, blocks) }));
    } catch {
      // See above.
    } finally {
      fetching.delete(stageId);
    }
  }

  const unsubscribe = store.subscribe(({ text }, before) => {
    if (text === before.text) return;
    for (const [stageId, blocks] of Object.entries(text)) {
      const lacking = blocks.filter(({ blockId, start }) => start > 0 && !asked.has(`${blockId} ${start}`));
      for (const { blockId, start } of lacking) asked.add(`${blockId} ${start}`);
      if (lacking.length > 0) void fetchWhole(stageId);
    }
  });

  return { fetch: fetchWhole, stop: unsubscribe };
}
