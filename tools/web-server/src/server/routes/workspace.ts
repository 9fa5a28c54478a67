import { CommandOutputQuery } from '@callboard/contract';
import type { Relays } from './relay.ts';

/** What projects run in the worktrees of their stages. */
export const workspaceRelays = {
  get_editors: {
    summary: 'List the editors on the machine of the orchestrator',
    description: 'Commands of known editors on its PATH. A project may name another one in its setting `editor`.',
  },
  open_in_editor: {
    isLocal: true,
    summary: 'Open the worktree of a stage in an editor',
    description: 'On the machine of the orchestrator, so only for requests that come from there.',
    problems: ['unknown_stage', 'no_worktree', 'no_editor', 'not_this_machine'],
  },
  continue_in_terminal: {
    isBodyOptional: true,
    summary: 'Continue the conversation of a stage in a terminal',
    description:
      'Marks the session (`terminal`), ends its process in order, and replies with the command that continues the conversation when the process has ended. From then on Callboard starts no process for it, and messages wait in the queue, until it is taken back: by a message, once Claude Code has ended in the terminal, or by `take_back`. A running turn is a refusal, unless `endTurn` is true.',
    problems: [
      ...(['unknown_stage', 'no_session', 'no_worktree', 'already_done', 'session_alarm'] as const),
      ...(['already_running', 'stage_running'] as const),
    ],
  },
  take_back: {
    summary: 'Take the conversation of a stage back from a terminal',
    description:
      'Refused (`in_terminal`) while a Claude Code is found that may write the conversation. Adds what was said in the terminal to the transcript. `resumed`: the first queued message resumed the session.',
    problems: ['unknown_stage', 'not_in_terminal', 'in_terminal'],
  },
  get_stage_commands: {
    summary: 'List what ran in the worktree of a stage, newest first',
    description:
      'Set-up, clean-up, checks and dev servers; the newest runs of each name are kept. `isolation` says whether a run is in the sandbox, and if not, why.',
    problems: ['unknown_stage'],
  },
  run_stage_command: {
    status: 202,
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
  },
  get_servers: {
    summary: 'List the dev servers of a stage',
    description: 'Those that the project names, each with its newest run. `port` is where it listens.',
    problems: ['unknown_stage'],
  },
  start_server: {
    status: 202,
    summary: 'Start a dev server',
    description:
      'In the worktree of the stage, with a port of its own in `PORT`. It ends when the stage is done, and with Callboard.',
    problems: [
      ...(['unknown_stage', 'unknown_server', 'no_worktree', 'already_done', 'command_running'] as const),
      ...(['settings_invalid', 'settings_not_agreed', 'disk_low'] as const),
    ],
  },
  stop_server: { summary: 'Stop a dev server', problems: ['unknown_stage', 'unknown_server'] },
  get_command_output: {
    query: CommandOutputQuery,
    summary: 'Get the output of a run',
    description:
      'Both streams, with escape sequences. With `after`, what it printed from that byte on: ask again from `to`, while it runs. Of a very long output only the end is kept, and `isCut` says so.',
    problems: ['unknown_command'],
  },
  stop_command: {
    summary: 'Stop a run',
    description: 'Ends all its processes: by SIGTERM, and after five seconds by SIGKILL.',
    problems: ['unknown_command'],
  },
} satisfies Relays;
