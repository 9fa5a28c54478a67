import { boardCounts, type LoopDelay } from '@callboard/contract';
import type { People } from '../../approvals/people.ts';
import type { WriteWatch } from '../../disk/write-watch.ts';
import { textWithOutlook } from '../../store/storage-failure.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { NumberViews } from '../../views/number-views.ts';
import type { SearchViews } from '../../views/search-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface BoardParts {
  views: BoardViews;
  searchViews: SearchViews;
  numberViews: NumberViews;
  people: Pick<People, 'find'>;
  loopDelay: () => LoopDelay;
  writes: Pick<WriteWatch, 'storageError'>;
}

type BoardCommands = 'get_board' | 'get_counts' | 'get_events' | 'get_numbers' | 'search' | 'watch';

export const boardCommands = ({
  views,
  searchViews,
  numberViews,
  people,
  loopDelay,
  writes,
}: BoardParts): Pick<CommandHandlers, BoardCommands> => ({
  // The person is read last, so that nothing up to `seq` is missing.
  get_board: async (_, { actor }) => ({ ...(await views.board()), me: await people.find(actor.name) }),
  async get_counts() {
    const storageError = writes.storageError();
    const storeTrouble = storageError === null ? null : textWithOutlook(storageError);
    return { counts: boardCounts(await views.board()), loopDelay: loopDelay(), storeTrouble };
  },
  get_events: views.events,
  get_numbers: numberViews.numbers,
  search: (query, { actor }) => searchViews.search(query, actor.name),
  watch: async ({ stageIds }, { watch }) => {
    watch(stageIds);
    return {};
  },
});
