import type { ForkStage } from '../../rewinds/fork-stage.ts';
import type { Rewinds } from '../../rewinds/rewinds.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface RewindCommandDeps {
  rewinds: Rewinds;
  forkStage: ForkStage;
  views: BoardViews;
}

type RewindCommands = 'rewind_session' | 'undo_rewind' | 'fork_stage';

export function rewindCommands({
  rewinds,
  forkStage,
  views,
}: RewindCommandDeps): Pick<CommandHandlers, RewindCommands> {
  return {
    rewind_session: ({ stageId, ...body }, { actor }) => rewinds.rewind(stageId, body, actor.name),
    undo_rewind: async ({ stageId }, { actor }) => ({ session: await rewinds.undo(stageId, actor.name) }),
    fork_stage: async ({ stageId, ...body }) => {
      const { id } = await forkStage(stageId, body);
      return { stage: await views.stage(id) };
    },
  };
}
