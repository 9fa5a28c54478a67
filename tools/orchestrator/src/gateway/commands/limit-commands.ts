import type { Limits } from '../../limits/limits.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface LimitDeps {
  usageLimits: Limits;
  views: BoardViews;
}

type LimitCommands = 'get_limits' | 'update_limits' | 'go_on';

export const limitCommands = ({ usageLimits, views }: LimitDeps): Pick<CommandHandlers, LimitCommands> => ({
  get_limits: usageLimits.view,
  update_limits: (patch) => usageLimits.update(patch),
  go_on: async ({ stageId, when }, { actor }) => {
    await usageLimits.decide(stageId, when, actor.name);
    return { session: await views.session(stageId) };
  },
});
