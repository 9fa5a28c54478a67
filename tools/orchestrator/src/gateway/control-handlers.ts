import type { Actor, CommandInput, CommandReply } from '@callboard/contract';
import type { SessionControls } from '../sessions/session-controls.ts';

type Controls = 'get_tasks' | 'stop_task' | 'get_task_output' | 'get_mcp_servers' | 'reconnect_mcp_server';
type Handlers = {
  [T in Controls]: (input: CommandInput<T>, context: { actor: Actor }) => Promise<CommandReply<T>>;
};

/** Background tasks and MCP servers of a session. */
export const controlHandlers = (controls: SessionControls): Handlers => ({
  get_tasks: async ({ stageId }) => ({ tasks: await controls.tasks(stageId) }),
  stop_task: async ({ stageId, taskId }, { actor }) => ({
    tasks: await controls.stopTask(stageId, taskId, actor.name),
  }),
  get_task_output: ({ stageId, taskId }) => controls.taskOutput(stageId, taskId),
  get_mcp_servers: async ({ stageId }) => ({ servers: await controls.mcpServers(stageId) }),
  reconnect_mcp_server: async ({ stageId, name }) => ({ servers: await controls.reconnectMcp(stageId, name) }),
});
