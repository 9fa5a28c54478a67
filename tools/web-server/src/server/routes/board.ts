import { NumbersQuery, SearchQuery, StageId } from '@callboard/contract';
import type { RouteOptions } from 'fastify';
import { z } from 'zod';
import { wholeNumber } from './query.ts';
import type { Ask } from './relay.ts';
import { type Relays, relayRoute } from './relay.ts';

/** Queries across all stages. */
export const boardRelays = {
  get_board: {
    summary: 'Get the board',
    description: 'The state at `seq`: an event stream opened with `since` of that number misses nothing.',
  },
  get_pending: {
    query: z.strictObject({ stageId: StageId.optional() }),
    summary: 'List pending requests',
    problems: ['unknown_stage'],
  },
  get_numbers: {
    query: NumbersQuery.extend({ days: wholeNumber(1, 366).optional() }),
    summary: 'Get the numbers of the last days',
    description:
      'How long Claude waited for people, which calls rules let through and when sessions ran, by days of a time zone. A wait counts on the day on which it ended, whether by an answer, a time limit or the end of its process; calls that Claude Code decided without asking do not count. Spending is by the last days of the server, which its `from` and `to` name. How full the contexts are now is on the board.',
  },
  search: {
    query: SearchQuery.extend({ limit: wholeNumber(1, 200).optional() }),
    summary: 'Search titles, prompts, comments and transcripts',
    description:
      'Titles and prompts first, then comments and what was said, done and decided, newest first; other people’s drafts are left out. All words must occur in one text; "words in quotes" stand together; the last word may be unfinished. Any text is a valid query.',
    problems: ['unknown_project', 'search_unavailable'],
  },
} satisfies Relays;

const params = z.object({ stageId: StageId });

/** `GET /api/sessions/:stageId/pending`: the pending requests of one stage. */
export function pendingRoute(ask: Ask): RouteOptions {
  const notes = { summary: 'List pending requests of a stage', problems: ['unknown_stage'] } as const;
  const all = relayRoute('get_pending', 'requests', notes, ask);
  return {
    ...all,
    url: '/api/sessions/:stageId/pending',
    schema: { ...all.schema, operationId: 'get_pending_of_stage', params },
    // The schema of the route has checked it.
    handler: (request) => ask(request, 'get_pending', request.params as z.infer<typeof params>),
  };
}
