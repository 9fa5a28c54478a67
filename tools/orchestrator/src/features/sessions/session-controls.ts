import { isDeepStrictEqual } from 'node:util';
import type {
  BackgroundTask,
  CommandInput,
  CommandReply,
  McpServer,
  SessionView,
  StageId,
  TaskMark,
  TaskOutput,
} from '@callboard/contract';
import { McpStatusReply, mcpState, TaskOutputReply } from '../../core/claude/wire.ts';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { LeftoverProcesses } from '../../core/launch/leftover-processes.ts';
import type { ControlRequest } from '../../core/launch/running-launch.ts';
import type { Sessions } from '../../core/launch/sessions.ts';
import { markTask } from '../../core/session/background-tasks.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { changeSession, noSession } from '../../core/session/change-session.ts';
import { addNotice } from '../../core/session/session-change.ts';
import { ProtocolError, Rejection } from '../../lib/errors.ts';
import type { SessionRecord } from '../../store/records.ts';
import { requireStage, type Store } from '../../store/store.ts';

/** Background tasks and MCP servers of a running session. */
export interface SessionControls {
  /** Returns the running tasks; none without a process. @throws Rejection `no_session`, `unknown_stage` */
  tasks(stageId: StageId): Promise<BackgroundTask[]>;
  /**
   * Stops a task. Returns the tasks that still run, once Claude Code has confirmed the stop.
   * @throws Rejection `no_session`, `not_running`, `unknown_task`, `refused_by_claude`, `no_confirmation`
   */
  stopTask(stageId: StageId, taskId: string, actor: string): Promise<BackgroundTask[]>;
  /**
   * Marks a command: whether the stage waits for it. Returns the running tasks.
   * @throws Rejection `no_session`, `unknown_stage`, `unknown_task`
   */
  markTask(stageId: StageId, taskId: string, mark: TaskMark | null, actor: string): Promise<BackgroundTask[]>;
  /**
   * Returns the output of a command, even if it has ended.
   * @throws Rejection `no_session`, `not_running`, `unknown_task`, `refused_by_claude`, `no_confirmation`
   */
  taskOutput(stageId: StageId, taskId: string): Promise<TaskOutput>;
  /** @throws Rejection `no_session`, `not_running`, `refused_by_claude`, `no_confirmation` */
  mcpServers(stageId: StageId): Promise<McpServer[]>;
  /**
   * Reconnects a server; returns all servers.
   * @throws Rejection `no_session`, `not_running`, `unknown_mcp_server`, `mcp_not_connected`, `refused_by_claude`, `no_confirmation`
   */
  reconnectMcp(stageId: StageId, name: string): Promise<McpServer[]>;
}

/** What a release cannot do if it lacks the request. */
const LACKS = {
  stop_task: 'background tasks cannot be stopped from the board',
  get_task_output: 'the output of background commands cannot be shown',
  mcp_status: 'the state of MCP servers cannot be shown',
  mcp_reconnect: 'MCP servers cannot be reconnected from the board',
} as const;

type Request = ControlRequest & { subtype: keyof typeof LACKS };

const UNSUPPORTED = /^Unsupported control request subtype/;
/** A server has 30 seconds to start, unless the user's settings say otherwise. */
const RECONNECT_MS = 90_000;

interface ControlsDeps {
  store: Store;
  /** As `mcpText`, in the environment that Claude Code gets. */
  mcpText: (server: { worktree: string; conversationId: string; name: string }) => Promise<string | null>;
  ask: Sessions['ask'];
}

export const createSessionControls = (deps: ControlsDeps): SessionControls => ({
  ...createTaskControls(deps),
  ...createMcpControls(deps),
});

function createTaskControls(
  deps: ControlsDeps,
): Pick<SessionControls, 'tasks' | 'stopTask' | 'markTask' | 'taskOutput'> {
  const { store } = deps;
  async function recordOf(stageId: StageId): Promise<SessionRecord> {
    const record = await store.read.sessions.find(stageId);
    if (record === null) throw await noSession(store.read, stageId);
    return record;
  }

  return {
    tasks: async (stageId) => (await recordOf(stageId)).backgroundTasks,
    async stopTask(stageId, taskId, actor) {
      const task = requireTask(await recordOf(stageId), taskId);
      await asRejection(request(deps, stageId, { subtype: 'stop_task', task_id: taskId }));
      // The reply is the same for an unknown task. The list that comes before the reply shows what was stopped.
      const record = await recordOf(stageId);
      if (record.backgroundTasks.some((one) => one.taskId === taskId)) {
        const message = 'Claude Code accepted the stop but still lists the task as running. Look again in a moment.';
        throw new Rejection('no_confirmation', message);
      }
      const text = `${actor} stopped the background task "${task?.description ?? taskId}".`;
      await store.transact((tx) =>
        changeSession(tx, stageId, (change) =>
          addNotice(change, tx.now, { level: 'info', code: 'task-stopped', text }),
        ),
      );
      return record.backgroundTasks;
    },
    markTask: (stageId, taskId, mark, actor) =>
      store.transact(async (tx) => {
        const { backgroundTasks } = await changeSession(tx, stageId, (change) => {
          change.record = markTask(change.record, taskId, mark);
          const task = change.record.backgroundTasks.find((one) => one.taskId === taskId);
          const text = markedText(actor, `the background command "${task?.description ?? taskId}"`, mark);
          addNotice(change, tx.now, { level: 'info', code: 'task-marked', text });
        });
        return backgroundTasks;
      }),
    async taskOutput(stageId, taskId) {
      const task = (await recordOf(stageId)).backgroundTasks.find((one) => one.taskId === taskId);
      try {
        const reply = await request(deps, stageId, { subtype: 'get_task_output', task_id: taskId });
        const { output, total_bytes, truncated } = TaskOutputReply.parse(reply).response;
        return { output, totalBytes: total_bytes, isCut: truncated };
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        const message =
          task === undefined
            ? `Claude Code has no output of a task ${taskId}.`
            : 'Claude Code keeps no output of this task. The output of a subagent is in the transcript, under its call.';
        throw new Rejection('unknown_task', message, { cause: error });
      }
    },
  };
}

function createMcpControls(deps: ControlsDeps): Pick<SessionControls, 'mcpServers' | 'reconnectMcp'> {
  const { store } = deps;

  async function mcpServers(stageId: StageId): Promise<McpServer[]> {
    const reply = McpStatusReply.safeParse(await asRejection(request(deps, stageId, { subtype: 'mcp_status' })));
    if (!reply.success)
      throw new Rejection(
        'refused_by_claude',
        'Claude Code reported its MCP servers in a form that Callboard does not understand. Update Callboard.',
      );
    const known = reply.data.response.mcpServers.map(
      ({ name, status, error, scope, tools }): McpServer => ({
        name,
        state: mcpState(status),
        error: error ?? null,
        tools: tools?.length ?? null,
        scope: scope ?? null,
      }),
    );
    const servers = await withText(stageId, known);
    const reported = servers.map(({ name, state }) => ({ name, state }));
    await store.transact(
      (tx) =>
        changeSession(tx, stageId, (change) => {
          const { launchId, mcpServers: known } = change.record;
          if (launchId !== null && !isDeepStrictEqual(reported, known))
            change.record = { ...change.record, mcpServers: reported };
        }),
      { sync: 'later' },
    );
    return servers;
  }

  /** Adds to servers that have failed what they said themselves. */
  async function withText(stageId: StageId, servers: McpServer[]): Promise<McpServer[]> {
    const conversationId = (await store.read.sessions.find(stageId))?.sessionId ?? null;
    const worktree = (await store.read.stages.find(stageId))?.worktree?.path;
    if (conversationId === null || worktree === undefined) return servers;
    return Promise.all(
      servers.map(async (server) => {
        if (server.state !== 'failed') return server;
        const stderr = await deps.mcpText({ worktree, conversationId, name: server.name });
        return stderr === null ? server : { ...server, stderr };
      }),
    );
  }

  return {
    mcpServers,
    async reconnectMcp(stageId, name) {
      const servers = await mcpServers(stageId);
      if (!servers.some((server) => server.name === name))
        throw new Rejection('unknown_mcp_server', `The session has no MCP server "${name}".`);
      try {
        await request(deps, stageId, { subtype: 'mcp_reconnect', serverName: name }, RECONNECT_MS);
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        const now = await mcpServers(stageId); // updates the list for everyone
        const { stderr } = now.find((server) => server.name === name) ?? {};
        throw new Rejection('mcp_not_connected', refusalReason(name, stderr ?? error.message), { cause: error });
      }
      return mcpServers(stageId);
    },
  };
}

function markedText(actor: string, task: string, mark: TaskMark | null): string {
  if (mark === null) return `${actor} took the mark from ${task}.`;
  return mark === 'work'
    ? `${actor} marked ${task} as work: the stage waits for it.`
    : `${actor} marked ${task} as meant to keep running: nothing waits for it.`;
}

function requireTask({ launchId, backgroundTasks }: SessionRecord, taskId: string): BackgroundTask | null {
  const task = backgroundTasks.find((one) => one.taskId === taskId) ?? null;
  if (task !== null || launchId === null) return task; // without a process, the request is refused with the reason
  throw new Rejection('unknown_task', `No background task ${taskId} is running; it may have ended already.`);
}

/** Sends a request. If this release does not know it, that is added to the gaps of the session. @throws as `Sessions.ask` */
async function request(
  { store, ask }: ControlsDeps,
  stageId: StageId,
  asked: Request,
  limitMs?: number,
): Promise<Record<string, unknown>> {
  try {
    return await ask(stageId, asked, limitMs);
  } catch (error) {
    if (!(error instanceof ProtocolError && UNSUPPORTED.test(error.message))) throw error;
    const lack = LACKS[asked.subtype];
    const { cliVersion } = await store.transact(
      (tx) =>
        changeSession(tx, stageId, (change) => {
          change.record = { ...change.record, cliGaps: [...new Set([...change.record.cliGaps, lack])] };
        }),
      { sync: 'later' },
    );
    const message = `With Claude Code ${cliVersion ?? 'of this release'}, ${lack}. Run "claude update", then stop the stage and start it again.`;
    throw new Rejection('refused_by_claude', message, { cause: error });
  }
}

async function asRejection<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new Rejection('refused_by_claude', `Claude Code refused: ${error.message}`, { cause: error });
  }
}

function refusalReason(name: string, why: string): string {
  if (why.includes('needs-auth'))
    return `The MCP server "${name}" needs a login. Run "claude" in a terminal, log in with /mcp, then reconnect.`;
  return `The MCP server "${name}" did not connect: ${why.replace(/\.$/, '')}. Check its settings, then reconnect.`;
}

export interface SessionDeps {
  store: Store;
  views: BoardViews;
  sessions: Sessions;
  controls: SessionControls;
  checks: { stopOf(stageId: StageId, by: string): Promise<boolean> };
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
