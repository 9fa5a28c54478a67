import { z } from 'zod';
import { StageId } from './ids.ts';
import { SessionTerminal } from './sessions.ts';
import { CommandOutput, CommandOutputQuery, DevServer, WorktreeCommand } from './worktree-commands.ts';

const onStage = { stageId: StageId };
const ofCommand = z.object({ ...onStage, commandId: z.uuid() });

const ofServer = z.object({ ...onStage, name: z.string().min(1).max(40) });

/** Commands about the worktrees of stages, and about what the project runs in them. */
export const workspaceCommands = {
  /** The commands of known editors on the machine of the orchestrator; the first one is used if a project names none. */
  get_editors: { input: z.object({}), reply: z.object({ editors: z.array(z.string()) }) },
  /** Opens the stage's worktree in an editor on the machine of the orchestrator. */
  open_in_editor: { input: z.object(onStage), reply: z.object({ command: z.string() }) },
  /** Ends the process in order, and leaves the conversation to a terminal. Replies when the process has ended. */
  continue_in_terminal: {
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
  },
  /** Takes the conversation back from a terminal, and sends what is queued. Refused while Claude Code still runs there. */
  take_back: {
    input: z.object(onStage),
    /** `resumed`: the first queued message resumed the session. */
    reply: z.object({ status: z.enum(['taken-back', 'resumed']) }),
  },
  /** Lists the runs of the project's commands in the stage's worktree, newest first. */
  get_stage_commands: {
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ commands: z.array(WorktreeCommand) }),
  },
  /** Runs the set-up or the clean-up of the stage's worktree; the reply comes when it has begun. */
  run_stage_command: {
    input: z.object({ ...onStage, kind: z.enum(['setup', 'cleanup']) }),
    reply: z.object({ command: WorktreeCommand }),
  },
  get_servers: { time: 'read', input: z.object(onStage), reply: z.object({ servers: z.array(DevServer) }) },
  /** Replies when its process is being started; its port is known when it listens. */
  start_server: { input: ofServer, reply: z.object({ server: DevServer }) },
  /** Replies when all its processes are gone. */
  stop_server: { time: 'slow', input: ofServer, reply: z.object({ server: DevServer }) },
  get_command_output: { time: 'read', input: CommandOutputQuery.extend(ofCommand.shape), reply: CommandOutput },
  /** Replies when all its processes are gone. */
  stop_command: { time: 'slow', input: ofCommand, reply: z.object({ command: WorktreeCommand }) },
} as const;
