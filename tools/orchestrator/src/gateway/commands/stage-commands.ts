import type { StageId, StageView } from '@callboard/contract';
import type { Checks } from '../../checks/checks.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Sessions } from '../../sessions/sessions.ts';
import type { StageCompletion } from '../../stages/complete-stage.ts';
import type { WorktreeRepair } from '../../stages/mend-worktree.ts';
import type { StageRemoval } from '../../stages/remove-stage.ts';
import type { Stages } from '../../stages/stages.ts';
import type { WorktreeFiles } from '../../stages/worktree-files.ts';
import { requireStage } from '../../store/require.ts';
import type { Store } from '../../store/store.ts';
import type { Trash } from '../../trash/trash.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { SetUp } from '../../worktree-commands/set-up.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface StageDeps {
  store: Store;
  views: BoardViews;
  stages: Stages;
  completion: StageCompletion;
  removal: StageRemoval;
  repair: WorktreeRepair;
  files: WorktreeFiles;
  sessions: Sessions;
  checks: Checks;
  trash: Trash;
  setUp: Pick<SetUp, 'skip'>;
}

type StageCommands =
  | 'create_stage'
  | 'get_stage'
  | 'get_attachment'
  | 'update_stage'
  | 'get_removal'
  | 'remove_stage'
  | 'get_trash'
  | 'restore_trash'
  | 'get_diff'
  | 'suggest_files'
  | 'start_stage'
  | 'advance_stage'
  | 'stop_stage'
  | 'get_checks'
  | 'get_phases'
  | 'run_check'
  | 'stop_check'
  | 'send_check'
  | 'reopen_stage'
  | 'get_completion'
  | 'take_out_placeholders'
  | 'complete_stage'
  | 'undo_completion'
  | 'remake_worktree'
  | 'take_branch'
  | 'go_back_to_branch';

export function stageCommands(deps: StageDeps): Pick<CommandHandlers, StageCommands> {
  const { store, views, stages, completion, removal, repair, files, sessions, trash, setUp, checks } = deps;
  const card = async (stageId: StageId): Promise<{ stage: StageView }> => ({ stage: await views.stage(stageId) });
  return {
    create_stage: async ({ creationId, ...stage }) => card((await stages.create(stage, { creationId })).id),
    get_stage: ({ stageId }) => card(stageId),
    get_attachment: async ({ stageId, fileId }) => ({ file: await stages.attachment(stageId, fileId) }),
    update_stage: async ({ stageId, patch }, { actor }) => {
      await stages.update(stageId, patch, actor.name);
      return card(stageId);
    },
    get_removal: async ({ stageId }) => ({ removal: await removal.plan(stageId) }),
    remove_stage: (input, { actor }) => removal.remove(input, actor.name),
    get_trash: async () => ({ entries: await trash.list() }),
    restore_trash: ({ trashId, folder }) => trash.restore(trashId, folder),
    get_diff: async ({ stageId, ...query }) => ({ diff: await files.diff(stageId, query) }),
    suggest_files: async ({ stageId, query = '' }) => ({ files: await files.suggest(stageId, query) }),
    start_stage: async ({ stageId, withoutSetup = false, withoutFetch = false }, { actor }) => {
      if (withoutSetup) await setUp.skip(stageId);
      await sessions.start(stageId, actor.name, { withoutFetch });
      return card(stageId);
    },
    advance_stage: async ({ stageId }, { actor }) => {
      await requireStage(store.read, stageId);
      await sessions.advance(stageId, actor.name);
      return card(stageId);
    },
    stop_stage: async ({ stageId }, { actor }) => {
      await requireStage(store.read, stageId);
      const wasChecking =
        (await store.read.sessions.find(stageId)) !== null && (await checks.stopOf(stageId, actor.name));
      const hasProcess = (await store.read.sessions.find(stageId))?.launchId != null;
      if (hasProcess || !wasChecking) await sessions.stop(stageId, `Stopped by ${actor.name}.`);
      return card(stageId);
    },
    ...checkCommands(deps, card),
    reopen_stage: async ({ stageId }, { actor }) => {
      await stages.reopen(stageId, actor.name);
      return card(stageId);
    },
    get_completion: async ({ stageId, method }) => ({ completion: await completion.preview(stageId, method) }),
    take_out_placeholders: async ({ stageId }) => ({ files: await completion.takeOutPlaceholders(stageId) }),
    complete_stage: async (input, { actor }) => {
      await completion.complete(input, actor.name);
      return card(input.stageId);
    },
    undo_completion: async ({ stageId }, { actor }) => {
      await completion.undo(stageId, actor.name);
      return card(stageId);
    },
    remake_worktree: async ({ stageId }, { actor }) => {
      await repair.remake(stageId, actor.name);
      return card(stageId);
    },
    take_branch: async ({ stageId, ...seen }, { actor }) => {
      await repair.takeBranch(stageId, seen, actor.name);
      return card(stageId);
    },
    go_back_to_branch: async ({ stageId, ...seen }, { actor }) => {
      await repair.rewind(stageId, seen, actor.name);
      return card(stageId);
    },
  };
}

type Card = (stageId: StageId) => Promise<{ stage: StageView }>;
type CheckCommand = 'get_checks' | 'get_phases' | 'run_check' | 'stop_check' | 'send_check';

const checkCommands = ({ checks }: StageDeps, card: Card): Pick<CommandHandlers, CheckCommand> => ({
  get_checks: async ({ stageId }) => ({ checks: await checks.list(stageId) }),
  get_phases: async ({ stageId }) => ({ phases: await checks.phases(stageId) }),
  run_check: async ({ stageId }, { actor }) => {
    await checks.runAgain(stageId, actor.name);
    return card(stageId);
  },
  stop_check: async ({ stageId }, { actor }) => {
    if (!(await checks.stopOf(stageId, actor.name)))
      throw new Rejection('no_check', `No check of ${stageId} is running, so there is nothing to stop.`);
    return card(stageId);
  },
  send_check: async ({ stageId }, { actor }) => {
    await checks.sendAgain(stageId, actor.name);
    return card(stageId);
  },
});
