import { boardView } from '@callboard/contract';
import type { Platform } from '../lib/edges.ts';
import type { Machines } from '../machines/machines.ts';
import type { LiveNows } from '../sessions/live-nows.ts';
import type { SearchIndex } from '../store/ports/search-index.ts';
import type { Store } from '../store/store.ts';
import { createBoardViews, withLiveNow } from '../views/board-views.ts';
import { createNumberViews } from '../views/number-views.ts';
import { createSearchViews } from '../views/search-views.ts';
import { boardNotices, type NoticeSources } from './board-notices.ts';

interface ViewDeps {
  store: Store;
  searchIndex: SearchIndex;
  platform: Platform;
  /** The parts that the state of the machine depends on. */
  machine: NoticeSources;
  /** Null: one machine has everything. */
  machines: Machines | null;
  liveNows: Pick<LiveNows, 'of'>;
}

/** What reads the store in the shape that clients get. */
export function createViews({ store, searchIndex, platform, machine, machines, liveNows }: ViewDeps) {
  const liveNow = liveNows.of;
  const board = async () => {
    const parts = { ...(await store.board()), ...(await boardNotices(machine)) };
    return withLiveNow(boardView(machines === null ? parts : { ...parts, machines: await machines.list() }), liveNow);
  };
  const views = createBoardViews({ store, board, liveNow, now: () => platform.now().toISOString() });
  const searchViews = createSearchViews({ store, searchIndex, board });
  return { board, views, searchViews, numberViews: createNumberViews({ store, platform }) };
}
