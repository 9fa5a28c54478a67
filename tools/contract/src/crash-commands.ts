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
    reply: z.object({
      /** The orchestrator that answers; another one after each of its starts. */
      instance: z.uuid(),
      processes: z.array(ClaudeProcess),
    }),
  },
  /** Kills this orchestrator and the web server, right after the reply. Sent again to the next one, it does nothing. */
  crash: {
    route: 'POST /api/crash',
    runs: 'here',
    input: z.object({ instance: z.uuid() }),
    reply: z.object({}),
    status: 202,
  },
} as const satisfies CommandDefinitions;

const INSTANCE = '0194269f-8c00-7000-8000-000000000002';

/** What the API's document says of them. */
export const crashDocs = (): DocsOf<typeof crashCommands> => ({
  get_processes: {
    tag: 'board',
    summary: 'List the processes of Claude Code',
    description:
      'Those of the machine that answers. The same `pid` and `startedAt` are the same process; `instance` changes with each start of the orchestrator.',
    example: {
      input: {},
      reply: {
        instance: INSTANCE,
        processes: [{ stageId: StageId.parse('STAGE-1'), pid: 4711, startedAt: '2026-01-02T14:05:00.000Z' }],
      },
    },
  },
  crash: {
    tag: 'board',
    summary: 'Kill Callboard, to see it return',
    description:
      'Sends SIGKILL to the orchestrator and the web server of this machine, as a crash would; the supervisor starts them again. Processes of Claude Code continue. If `instance` (of `GET /api/processes`) has ended already, nothing happens, so a request that is sent again does not kill the next one. Needs a page of a logged-in browser.',
    problems: ['page_only'],
    example: { input: { instance: INSTANCE }, reply: {} },
  },
});
