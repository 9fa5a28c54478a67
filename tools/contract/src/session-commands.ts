import { z } from 'zod';
import { PendingRequest } from './approvals.ts';
import { type CommandDefinitions, type DocsOf, wholeNumber } from './command.ts';
import { TextDelta } from './events.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { QueuedMessage } from './messages.ts';
import { CapabilitiesQuery, CapabilitiesReply } from './projects.ts';
import { BackgroundTask, Effort, McpServer, PermissionMode, SessionSummary, TaskMark, TaskOutput } from './sessions.ts';
import { TranscriptEntry } from './transcript.ts';
import { LeftProcess } from './trash.ts';

const ModeBody = z.strictObject({ mode: PermissionMode });

/** The model, the effort, or both. A model of null selects the default. */
const ModelBody = z.strictObject({
  model: z.string().trim().min(1).max(200).nullable().optional(),
  effort: Effort.optional(),
});

/** A whole session: its summary, its queue and its open requests. */
export const SessionView = SessionSummary.extend({ queue: z.array(QueuedMessage), pending: z.array(PendingRequest) });
export type SessionView = z.infer<typeof SessionView>;

const onStage = { stageId: StageId };
const ofTask = z.object({ ...onStage, taskId: z.string().min(1).max(200) });
const taskList = z.object({ tasks: z.array(BackgroundTask) });
const mcpList = z.object({ servers: z.array(McpServer) });
const TranscriptQuery = z.strictObject({
  after: wholeNumber(0).optional(),
  before: wholeNumber(1).optional(),
  limit: wholeNumber(1, 1000).optional(),
});

export const sessionCommands = {
  /** Returns what Claude Code offers: to a stage, to a new stage of a project, or in general. */
  get_capabilities: {
    route: 'GET /api/capabilities',
    runs: 'store',
    time: 'read',
    input: CapabilitiesQuery,
    reply: CapabilitiesReply,
    query: CapabilitiesQuery,
  },
  get_session: {
    route: 'GET /api/sessions/:stageId',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ session: SessionView }),
  },
  get_transcript: {
    route: 'GET /api/sessions/:stageId/transcript',
    runs: 'store',
    time: 'read',
    input: z.object({
      ...onStage,
      after: z.int().nonnegative().optional(),
      before: z.int().positive().optional(),
      limit: z.int().positive().max(1000).optional(),
    }),
    /** Entries in ascending order; the newest if neither `after` nor `before` is given. `total` is the index of the last entry. */
    reply: z.object({ entries: z.array(TranscriptEntry), total: z.int().nonnegative() }),
    query: TranscriptQuery,
  },
  /** Returns the streaming text that is not stored yet, each block from its beginning, for clients that join during a stream. */
  get_live_text: {
    route: 'GET /api/sessions/:stageId/live-text',
    runs: 'owner',
    input: z.object(onStage),
    reply: z.object({ blocks: z.array(TextDelta) }),
  },
  interrupt: {
    route: 'POST /api/sessions/:stageId/interrupt',
    runs: 'owner',
    input: z.object(onStage),
    reply: z.object({ session: SessionView }),
  },
  /** A person has looked into the alarm: the session may continue. Ends the process first if it is still running. */
  acknowledge_alarm: {
    route: 'POST /api/sessions/:stageId/alarm/acknowledge',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ session: SessionView }),
  },
  /** A person has seen that Claude Code denied the turn's last call: the stage moves to Review. */
  acknowledge_denial: {
    route: 'POST /api/sessions/:stageId/denial/acknowledge',
    runs: 'owner',
    input: z.object(onStage),
    reply: z.object({ session: SessionView }),
  },
  /** Lists processes left running by the session's ended processes. They lack the marker by which Callboard would have ended them. */
  get_leftovers: {
    route: 'GET /api/sessions/:stageId/processes',
    runs: 'owner',
    input: z.object(onStage),
    reply: z.object({ processes: z.array(LeftProcess) }),
  },
  /** Ends these processes, or none if one is no longer on the list. The reply lists those still running. */
  end_leftovers: {
    route: 'POST /api/sessions/:stageId/processes/end',
    runs: 'owner',
    time: 'slow',
    input: z.object({ ...onStage, pids: z.array(z.int().positive()).min(1).max(1000) }),
    reply: z.object({ processes: z.array(LeftProcess) }),
  },
  /** Lists background tasks; empty without a process. */
  get_tasks: {
    route: 'GET /api/sessions/:stageId/tasks',
    runs: 'owner',
    time: 'read',
    input: z.object(onStage),
    reply: taskList,
  },
  /** Replies after Claude Code has stopped the task. The reply lists the tasks still running. */
  stop_task: { route: 'POST /api/sessions/:stageId/tasks/:taskId/stop', runs: 'owner', input: ofTask, reply: taskList },
  /** Says of a background command whether the stage waits for it. One that is meant to keep running is known again by its command. */
  mark_task: {
    route: 'POST /api/sessions/:stageId/tasks/:taskId/mark',
    runs: 'owner',
    input: z.object({ ...ofTask.shape, mark: TaskMark.nullable() }),
    reply: taskList,
  },
  /** Returns the output of a background command, running or ended, while its session has a process. */
  get_task_output: {
    route: 'GET /api/sessions/:stageId/tasks/:taskId/output',
    runs: 'owner',
    input: ofTask,
    reply: TaskOutput,
  },
  /** Asks Claude Code for the state of its MCP servers. */
  get_mcp_servers: { route: 'GET /api/sessions/:stageId/mcp', runs: 'owner', input: z.object(onStage), reply: mcpList },
  /** Replies after the server has connected, or with the reason why it has not. */
  reconnect_mcp_server: {
    route: 'POST /api/sessions/:stageId/mcp/:name/reconnect',
    runs: 'owner',
    time: 'slow',
    input: z.object({ ...onStage, name: z.string().min(1).max(500) }),
    reply: mcpList,
  },
  set_mode: {
    route: 'POST /api/sessions/:stageId/mode',
    runs: 'owner',
    input: ModeBody.extend(onStage),
    reply: z.object({ session: SessionView }),
  },
  set_model: {
    route: 'POST /api/sessions/:stageId/model',
    runs: 'owner',
    input: ModelBody.extend(onStage),
    reply: z.object({ session: SessionView }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const sessionDocs = (): DocsOf<typeof sessionCommands> => {
  const { stage, session } = the;
  const onStage = { stageId: stage.id };

  return {
    get_capabilities: {
      tag: 'sessions',
      summary: 'List the slash commands and models that Claude Code offers',
      description:
        'As reported at the latest start: of the stage, else of its project, else of any project, in which case only the built-in commands are listed. Null before the first start.',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { capabilities: the.capabilities, from: 'stage' } },
    },
    get_session: {
      tag: 'sessions',
      summary: 'Get the session of a stage',
      problems: ['unknown_stage', 'no_session'],
      example: { input: onStage, reply: { session } },
    },
    get_transcript: {
      tag: 'sessions',
      summary: 'List transcript entries, in pages',
      description:
        'In ascending order. `after` and `before` are exclusive entry indexes; without either, the newest entries are returned. `total` is the index of the last entry.',
      problems: ['unknown_stage'],
      example: { input: { ...onStage, after: 0, limit: 100 }, reply: { entries: the.entries, total: 1 } },
    },
    get_live_text: {
      tag: 'sessions',
      summary: 'Get the text that Claude is writing now',
      description:
        'Every block that is not in the transcript yet, from its beginning. `text-delta` events continue it; the `offset` of each says where it belongs.',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { blocks: [the.liveBlock] } },
    },
    interrupt: {
      tag: 'sessions',
      summary: 'Interrupt the running turn',
      description:
        'The reply comes once Claude Code has confirmed the interruption. A process that does not confirm within five seconds is ended: `state` is then `ended`, and a message resumes the session. If the process had already died, the code is `not_running`, and `detail` says how it ended. Queued messages are held.',
      problems: ['unknown_stage', 'no_session', 'not_running'],
      example: { input: onStage, reply: { session } },
    },
    acknowledge_alarm: {
      tag: 'sessions',
      summary: 'Acknowledge an alarm',
      description:
        'Lets the session continue after a person has looked at the alarm. The reply comes once the process has ended and the alarm is cleared; nothing is started. The transcript records who acknowledged it.',
      problems: ['unknown_stage', 'no_session', 'no_alarm'],
      example: { input: onStage, reply: { session } },
    },
    acknowledge_denial: {
      tag: 'sessions',
      summary: 'Acknowledge a denial by Claude Code',
      description:
        'Claude Code denied the last tool call of the turn because of its mode, a rule or a hook, without asking anybody (`openDenial`). The acknowledgement moves the stage from Needs you to Review; a message does the same. Nothing is sent to Claude.',
      problems: ['unknown_stage', 'no_session', 'no_denial'],
      example: { input: onStage, reply: { session } },
    },
    get_leftovers: {
      tag: 'sessions',
      summary: 'List processes that outlived the session',
      description:
        'Processes that Claude’s commands started without the marker by which Callboard finds and ends them (with `env -i`, for example), and that still run after the process of the session has ended. Callboard does not end them on its own.',
      problems: ['unknown_stage'],
      example: {
        input: onStage,
        reply: { processes: [{ pid: 4711, command: 'node server.js', startedAt: '2026-11-22T09:30:00.000Z' }] },
      },
    },
    end_leftovers: {
      tag: 'sessions',
      summary: 'End processes that outlived the session',
      description:
        'With SIGTERM, then SIGKILL after five seconds. All of them must be on the current list, or none is ended. Returns the processes that still run.',
      problems: ['unknown_stage', 'unknown_process'],
      example: { input: { ...onStage, pids: [4711] }, reply: { processes: [] } },
    },
    get_tasks: {
      tag: 'sessions',
      summary: 'List background tasks',
      description: 'Commands and subagents that Claude runs beside the turn. Empty while the session has no process.',
      problems: ['unknown_stage', 'no_session'],
      example: { input: onStage, reply: { tasks: [the.task] } },
    },
    stop_task: {
      tag: 'sessions',
      summary: 'Stop a background task',
      description:
        'The reply comes once Claude Code no longer lists the task, and has the tasks that still run. The transcript records who stopped it. Claude is told as well; for a subagent at once, in a separate turn. A process that ignores SIGTERM may live for a few more seconds.',
      problems: ['unknown_stage', 'no_session', 'not_running', 'unknown_task', 'refused_by_claude'],
      example: { input: { ...onStage, taskId: the.task.taskId }, reply: { tasks: [] } },
    },
    mark_task: {
      tag: 'sessions',
      summary: 'Mark a background command',
      description:
        'A stage waits for its background tasks: until they have ended, its phase goes on, and it is neither checked nor merged nor finished. With `keep-running`, nothing waits for this command; the same command is known again when Claude starts it once more in this stage. With `work`, the stage waits for it and nobody is asked about it; null takes the mark away. Subagents cannot be marked.',
      problems: ['unknown_stage', 'no_session', 'unknown_task'],
      example: {
        input: { ...onStage, taskId: the.task.taskId, mark: 'keep-running' },
        reply: { tasks: [{ ...the.task, mark: 'keep-running' }] },
      },
    },
    get_task_output: {
      tag: 'sessions',
      summary: 'Get the output of a background command',
      description:
        'The last 8 kB, as text with its escape sequences; also for a command that has ended, while the session has a process. Subagents have no output. A release of Claude Code that cannot return it refuses, and `cliGaps` of the session says so.',
      problems: ['unknown_stage', 'no_session', 'not_running', 'unknown_task', 'refused_by_claude'],
      example: {
        input: { ...onStage, taskId: the.task.taskId },
        reply: { output: 'ready on port 5173\n', totalBytes: 19, isCut: false },
      },
    },
    get_mcp_servers: {
      tag: 'sessions',
      summary: 'List the MCP servers of a session',
      description:
        'As Claude Code reports them now. A server that has died is shown as connected until one of its tools is used. Settings, headers and addresses are left out.',
      problems: ['unknown_stage', 'no_session', 'not_running', 'refused_by_claude'],
      example: { input: onStage, reply: { servers: [the.mcpServer] } },
    },
    reconnect_mcp_server: {
      tag: 'sessions',
      summary: 'Reconnect an MCP server',
      description:
        'The reply comes once the server is connected, and has all servers; otherwise it is 409 with the reason. A connected server is restarted.',
      problems: [
        'unknown_stage',
        'no_session',
        'not_running',
        'unknown_mcp_server',
        'mcp_not_connected',
        'refused_by_claude',
      ],
      example: {
        input: { ...onStage, name: the.mcpServer.name },
        reply: { servers: [{ ...the.mcpServer, state: 'connected', error: null, tools: 7 }] },
      },
    },
    set_mode: {
      tag: 'sessions',
      summary: 'Change the permission mode',
      description: 'The reply comes once Claude Code has confirmed it.',
      problems: ['unknown_stage', 'no_session', 'not_running', 'refused_by_claude'],
      example: { input: { ...onStage, mode: 'acceptEdits' }, reply: { session: { ...session, mode: 'acceptEdits' } } },
    },
    set_model: {
      tag: 'sessions',
      summary: 'Change the model, the effort, or both',
      description: 'A `model` of null is the default. The reply comes once Claude Code has confirmed the change.',
      problems: ['unknown_stage', 'no_session', 'not_running', 'refused_by_claude'],
      example: { input: { ...onStage, effort: 'high' }, reply: { session: { ...session, effort: 'high' } } },
    },
  };
};
