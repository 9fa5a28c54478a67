import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import { CommandOutput, CommandOutputQuery, DevServer, WorktreeCommand } from './dev-servers.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { SessionTerminal } from './sessions.ts';

const onStage = { stageId: StageId };
const ofCommand = z.object({ ...onStage, commandId: z.uuid() });

const ofServer = z.object({ ...onStage, name: z.string().min(1).max(40) });

/** Commands about the worktrees of stages, and about what the project runs in them. */
export const workspaceCommands = {
  /** The commands of known editors on the machine of the orchestrator; the first one is used if a project names none. */
  get_editors: {
    route: 'GET /api/editors',
    runs: 'here',
    input: z.object({}),
    reply: z.object({ editors: z.array(z.string()) }),
  },
  /** Opens the stage's worktree in an editor on the machine of the orchestrator. */
  open_in_editor: {
    route: 'POST /api/stages/:stageId/editor',
    runs: 'not-relayed',
    input: z.object(onStage),
    reply: z.object({ command: z.string() }),
    isLocal: true,
  },
  /** Ends the process in order, and leaves the conversation to a terminal. Replies when the process has ended. */
  continue_in_terminal: {
    route: 'POST /api/sessions/:stageId/terminal',
    runs: 'owner',
    time: 'slow',
    input: z.object({
      ...onStage,
      /** Ends a running turn, with its open requests. Without it, a turn is a refusal. */
      endTurn: z.boolean().optional(),
    }),
    reply: z.object({
      /** What continues the conversation, for a POSIX shell. */
      command: z.string(),
      terminal: SessionTerminal,
    }),
    isBodyOptional: true,
  },
  /** Takes the conversation back from a terminal, and sends what is queued. Refused while Claude Code still runs there. */
  take_back: {
    route: 'DELETE /api/sessions/:stageId/terminal',
    runs: 'owner',
    input: z.object(onStage),
    /** `resumed`: the first queued message resumed the session. */
    reply: z.object({ status: z.enum(['taken-back', 'resumed']) }),
  },
  /** Lists the runs of the project's commands in the stage's worktree, newest first. */
  get_stage_commands: {
    route: 'GET /api/stages/:stageId/commands',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ commands: z.array(WorktreeCommand) }),
  },
  /** Runs the set-up or the clean-up of the stage's worktree; the reply comes when it has begun. */
  run_stage_command: {
    route: 'POST /api/stages/:stageId/commands',
    runs: 'owner',
    input: z.object({ ...onStage, kind: z.enum(['setup', 'cleanup']) }),
    reply: z.object({ command: WorktreeCommand }),
    status: 202,
  },
  get_servers: {
    route: 'GET /api/stages/:stageId/servers',
    runs: 'owner',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ servers: z.array(DevServer) }),
  },
  /** Replies when its process is being started; its port is known when it listens. */
  start_server: {
    route: 'POST /api/stages/:stageId/servers/:name/start',
    runs: 'owner',
    input: ofServer,
    reply: z.object({ server: DevServer }),
    status: 202,
  },
  /** Replies when all its processes are gone. */
  stop_server: {
    route: 'POST /api/stages/:stageId/servers/:name/stop',
    runs: 'owner',
    time: 'slow',
    input: ofServer,
    reply: z.object({ server: DevServer }),
  },
  get_command_output: {
    route: 'GET /api/stages/:stageId/commands/:commandId/output',
    runs: 'owner',
    time: 'read',
    input: CommandOutputQuery.extend(ofCommand.shape),
    reply: CommandOutput,
    query: CommandOutputQuery,
  },
  /** Replies when all its processes are gone. */
  stop_command: {
    route: 'POST /api/stages/:stageId/commands/:commandId/stop',
    runs: 'owner',
    time: 'slow',
    input: ofCommand,
    reply: z.object({ command: WorktreeCommand }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const workspaceDocs = (): DocsOf<typeof workspaceCommands> => {
  const { stage } = the;
  const onStage = { stageId: stage.id };

  return {
    get_editors: {
      tag: 'workspace',
      summary: 'List the editors on the machine of the orchestrator',
      description: 'Commands of known editors on its PATH. A project may name another one in its setting `editor`.',
      example: { input: {}, reply: { editors: ['code', 'zed'] } },
    },
    open_in_editor: {
      tag: 'workspace',
      summary: 'Open the worktree of a stage in an editor',
      description: 'On the machine of the orchestrator, so only for requests that come from there.',
      problems: ['unknown_stage', 'no_worktree', 'no_editor', 'not_this_machine'],
      example: { input: onStage, reply: { command: 'code' } },
    },
    continue_in_terminal: {
      tag: 'workspace',
      summary: 'Continue the conversation of a stage in a terminal',
      description:
        'Marks the session (`terminal`), ends its process in order, and replies with the command that continues the conversation when the process has ended. From then on Callboard starts no process for it, and messages wait in the queue, until it is taken back: by a message, once Claude Code has ended in the terminal, or by `take_back`. A running turn is a refusal, unless `endTurn` is true.',
      problems: [
        ...(['unknown_stage', 'no_session', 'no_worktree', 'already_done', 'session_alarm'] as const),
        ...(['already_running', 'stage_running'] as const),
      ],
      example: {
        input: { ...onStage, endTurn: true },
        reply: {
          command:
            "cd '/home/ada/.callboard/worktrees/shop/STAGE-1' && claude --resume 24796da1-60bd-44a0-8d5b-3f1c2b9a7e10",
          terminal: { since: '2026-01-01T10:05:00.000Z', by: 'Ada' },
        },
      },
    },
    take_back: {
      tag: 'workspace',
      summary: 'Take the conversation of a stage back from a terminal',
      description:
        'Refused (`in_terminal`) while a Claude Code is found that may write the conversation. Adds what was said in the terminal to the transcript. `resumed`: the first queued message resumed the session.',
      problems: ['unknown_stage', 'not_in_terminal', 'in_terminal'],
      example: { input: onStage, reply: { status: 'resumed' } },
    },
    get_stage_commands: {
      tag: 'workspace',
      summary: 'List what ran in the worktree of a stage, newest first',
      description:
        'Set-up, clean-up, checks and dev servers; the newest runs of each name are kept. `isolation` says whether a run is in the sandbox, and if not, why.',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { commands: [the.command] } },
    },
    run_stage_command: {
      tag: 'workspace',
      summary: 'Run the set-up or the clean-up of a worktree',
      description: 'Replies when it has begun.',
      problems: [
        'unknown_stage',
        'no_worktree',
        'no_command',
        'command_running',
        'settings_invalid',
        'settings_not_agreed',
        'disk_low',
      ],
      example: {
        input: { ...onStage, kind: 'setup' },
        reply: { command: { ...the.command, state: 'running', exitCode: null, endedAt: null } },
      },
    },
    get_servers: {
      tag: 'workspace',
      summary: 'List the dev servers of a stage',
      description: 'Those that the project names, each with its newest run. `port` is where it listens.',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { servers: [the.server] } },
    },
    start_server: {
      tag: 'workspace',
      summary: 'Start a dev server',
      description:
        'In the worktree of the stage, with a port of its own in `PORT`. It ends when the stage is done, and with Callboard.',
      problems: [
        ...(['unknown_stage', 'unknown_server', 'no_worktree', 'already_done', 'command_running'] as const),
        ...(['settings_invalid', 'settings_not_agreed', 'disk_low'] as const),
      ],
      example: { input: { ...onStage, name: 'web' }, reply: { server: the.server } },
    },
    stop_server: {
      tag: 'workspace',
      summary: 'Stop a dev server',
      problems: ['unknown_stage', 'unknown_server'],
      example: { input: { ...onStage, name: 'web' }, reply: { server: { ...the.server, run: null } } },
    },
    get_command_output: {
      tag: 'workspace',
      summary: 'Get the output of a run',
      description:
        'Both streams, with escape sequences. With `after`, what it printed from that byte on: ask again from `to`, while it runs. Of a very long output only the end is kept, and `isCut` says so.',
      problems: ['unknown_command'],
      example: {
        input: { ...onStage, commandId: the.command.id, after: 0 },
        reply: { output: 'added 212 packages in 3s\n', from: 0, to: 25, total: 25, isCut: false },
      },
    },
    stop_command: {
      tag: 'workspace',
      summary: 'Stop a run',
      description: 'Ends all its processes: by SIGTERM, and after five seconds by SIGKILL.',
      problems: ['unknown_command'],
      example: {
        input: { ...onStage, commandId: the.command.id },
        reply: { command: { ...the.command, state: 'stopped', exitCode: null, reason: 'Stopped by ada.' } },
      },
    },
  };
};
