import type { Terminals } from '../../sessions/terminals.ts';
import type { WorktreeCleaning } from '../../trash/clean-worktrees.ts';
import type { CleanUp } from '../../worktree-commands/clean-up.ts';
import type { DevServers } from '../../worktree-commands/dev-servers.ts';
import type { Editors } from '../../worktree-commands/editors.ts';
import type { SetUp } from '../../worktree-commands/set-up.ts';
import type { WorktreeCommands } from '../../worktree-commands/worktree-commands.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface WorkspaceDeps {
  worktreeCommands: WorktreeCommands;
  setUp: SetUp;
  cleanUp: CleanUp;
  devServers: DevServers;
  cleaning: WorktreeCleaning;
  editors: Editors;
  terminals: Terminals;
}

type WorkspaceCommands =
  | 'get_editors'
  | 'open_in_editor'
  | 'continue_in_terminal'
  | 'take_back'
  | 'get_worktrees'
  | 'get_worktree_clean_up'
  | 'clean_worktree'
  | 'get_stage_commands'
  | 'run_stage_command'
  | 'get_servers'
  | 'start_server'
  | 'stop_server'
  | 'get_command_output'
  | 'stop_command';

export function workspaceCommands(deps: WorkspaceDeps): Pick<CommandHandlers, WorkspaceCommands> {
  const { worktreeCommands, setUp, cleanUp, devServers, cleaning, editors, terminals } = deps;
  return {
    get_editors: async () => ({ editors: await editors.list() }),
    open_in_editor: async ({ stageId }) => ({ command: await editors.open(stageId) }),
    continue_in_terminal: ({ stageId, endTurn }, { actor }) => terminals.leave(stageId, { actor: actor.name, endTurn }),
    take_back: async ({ stageId }) => ({ status: await terminals.withdraw(stageId) }),
    get_worktrees: ({ projectId }) => cleaning.list(projectId),
    get_worktree_clean_up: async ({ projectId, name }) => ({ cleanUp: await cleaning.preview(projectId, name) }),
    clean_worktree: ({ buildFolders = 'keep', ...which }, { actor }) =>
      cleaning.clean({ ...which, buildFolders, by: actor.name }),
    run_stage_command: async ({ stageId, kind }, { actor }) => ({
      command: await (kind === 'setup' ? setUp : cleanUp).runAgain(stageId, actor.name),
    }),
    get_stage_commands: async ({ stageId }) => ({ commands: await worktreeCommands.list(stageId) }),
    get_servers: async ({ stageId }) => ({ servers: await devServers.list(stageId) }),
    start_server: async ({ stageId, name }, { actor }) => ({
      server: await devServers.start(stageId, name, actor.name),
    }),
    stop_server: async ({ stageId, name }, { actor }) => ({ server: await devServers.stop(stageId, name, actor.name) }),
    get_command_output: ({ stageId, commandId, after }) => worktreeCommands.output(stageId, commandId, { after }),
    stop_command: async ({ stageId, commandId }, { actor }) => ({
      command: await worktreeCommands.stop(stageId, commandId, actor.name),
    }),
  };
}
