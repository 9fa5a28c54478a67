import type { CommandInput, CommandReply, SessionView, StageId } from '@callboard/contract';
import type { Checks } from '../../checks/checks.ts';
import type { LeftoverProcesses } from '../../sessions/launch/leftover-processes.ts';
import type { SessionControls } from '../../sessions/session-controls.ts';
import type { Sessions } from '../../sessions/sessions.ts';
import { requireStage } from '../../store/require.ts';
import type { Store } from '../../store/store.ts';
import type { BoardViews } from '../../views/board-views.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface SessionDeps {
  store: Store;
  views: BoardViews;
  sessions: Sessions;
  controls: SessionControls;
  checks: Pick<Checks, 'stopOf'>;
  leftovers: LeftoverProcesses;
  /** What Claude Code offers a stage. */
  capabilities: (of: CommandInput<'get_capabilities'>) => Promise<CommandReply<'get_capabilities'>>;
}

type SessionCommands =
  | 'get_capabilities'
  | 'get_session'
  | 'get_transcript'
  | 'get_live_text'
  | 'interrupt'
  | 'acknowledge_alarm'
  | 'acknowledge_denial'
  | 'get_leftovers'
  | 'end_leftovers'
  | 'get_tasks'
  | 'stop_task'
  | 'mark_task'
  | 'get_task_output'
  | 'get_mcp_servers'
  | 'reconnect_mcp_server'
  | 'set_mode'
  | 'set_model';

export function sessionCommands(deps: SessionDeps): Pick<CommandHandlers, SessionCommands> {
  const { store, views, sessions, controls, leftovers, capabilities, checks } = deps;
  const view = async (stageId: StageId): Promise<{ session: SessionView }> => ({
    session: await views.session(stageId),
  });
  return {
    get_capabilities: capabilities,
    get_session: ({ stageId }) => view(stageId),
    get_transcript: views.transcript,
    get_live_text: async ({ stageId }) => {
      await requireStage(store.read, stageId);
      return { blocks: sessions.liveText(stageId) };
    },
    interrupt: async ({ stageId }, { actor }) => {
      if (!(await checks.stopOf(stageId, actor.name)))
        await sessions.interrupt(stageId, `Interrupted by ${actor.name}.`);
      return view(stageId);
    },
    acknowledge_alarm: async ({ stageId }, { actor }) => {
      await sessions.acknowledgeAlarm(stageId, actor.name);
      return view(stageId);
    },
    acknowledge_denial: async ({ stageId }, { actor }) => {
      await sessions.acknowledgeDenial(stageId, actor.name);
      return view(stageId);
    },
    get_leftovers: async ({ stageId }) => ({ processes: await leftovers.list(stageId) }),
    end_leftovers: async ({ stageId, pids }, { actor }) => ({
      processes: await leftovers.end(stageId, pids, actor.name),
    }),
    get_tasks: async ({ stageId }) => ({ tasks: await controls.tasks(stageId) }),
    stop_task: async ({ stageId, taskId }, { actor }) => ({
      tasks: await controls.stopTask(stageId, taskId, actor.name),
    }),
    mark_task: async ({ stageId, taskId, mark }, { actor }) => ({
      tasks: await controls.markTask(stageId, taskId, mark, actor.name),
    }),
    get_task_output: ({ stageId, taskId }) => controls.taskOutput(stageId, taskId),
    get_mcp_servers: async ({ stageId }) => ({ servers: await controls.mcpServers(stageId) }),
    reconnect_mcp_server: async ({ stageId, name }) => ({ servers: await controls.reconnectMcp(stageId, name) }),
    set_mode: async ({ stageId, mode }) => {
      await sessions.setMode(stageId, mode);
      return view(stageId);
    },
    set_model: async ({ stageId, model, effort }) => {
      await sessions.setModel(stageId, { model, effort });
      return view(stageId);
    },
  };
}
