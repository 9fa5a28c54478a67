import { boardCounts, type LoopDelay } from '@callboard/contract';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface BoardParts {
  views: BoardViews;
  loopDelay: () => LoopDelay;
}

type BoardCommands = 'get_board' | 'get_counts' | 'get_events' | 'watch';

export const boardCommands = ({ views, loopDelay }: BoardParts): Pick<CommandHandlers, BoardCommands> => ({
  get_board: views.board,
  get_counts: async () => ({ counts: boardCounts(await views.board()), loopDelay: loopDelay() }),
  get_events: views.events,
  watch: async ({ stageIds }, { watch }) => {
    watch(stageIds);
    return {};
  },
});
