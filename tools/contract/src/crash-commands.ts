import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import { StageId } from './ids.ts';
import { ClaudeProcess } from './sessions.ts';

/** The commands with which a person sees for himself that a crash loses nothing. */
export const crashCommands = {
  /** Lists the processes of Claude Code that this machine's orchestrator reads and writes. */
  get_processes: {
    route: 'GET /api/processes',
    runs: 'here',
    time: 'read',
    input: z.object({}),
    reply: z.object({ processes: z.array(ClaudeProcess) }),
  },
  /** Kills the orchestrator and the web server, right after the reply. */
  crash: { route: 'POST /api/crash', runs: 'here', input: z.object({}), reply: z.object({}), status: 202 },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const crashDocs = (): DocsOf<typeof crashCommands> => ({
  get_processes: {
    tag: 'board',
    summary: 'List the processes of Claude Code',
    description: 'Those of the machine that answers. The same `pid` and `startedAt` are the same process.',
    example: {
      input: {},
      reply: {
        processes: [{ stageId: StageId.parse('STAGE-1'), pid: 4711, startedAt: '2026-01-02T14:05:00.000Z' }],
      },
    },
  },
  crash: {
    tag: 'board',
    summary: 'Kill Callboard, to see it return',
    description:
      'Sends SIGKILL to the orchestrator and the web server of this machine, as a crash would; the supervisor starts them again. Processes of Claude Code continue. Needs a page of a logged-in browser.',
    problems: ['page_only'],
    example: { input: {}, reply: {} },
  },
});
