import { z } from 'zod';
import { BoardView } from './board.ts';
import { type CommandDefinitions, type DocsOf, wholeNumber } from './command.ts';
import { type BoardEvent, looksLikeEvent } from './events.ts';
import * as the from './examples.ts';
import { HealthFigures } from './http.ts';
import { StageId } from './ids.ts';
import { SearchQuery, SearchReply } from './search.ts';

const nothing = z.object({});

export const boardCommands = {
  get_board: { route: 'GET /api/board', runs: 'store', time: 'read', input: nothing, reply: BoardView },
  /** Returns counts for monitoring. */
  get_counts: { runs: 'store', time: 'read', input: nothing, reply: HealthFigures },
  /** Returns the orchestrator's figures in Prometheus' text format, for a token of `create_metrics_token`; `not_logged_in` for any other. */
  get_metrics: {
    runs: 'here',
    time: 'read',
    input: z.object({ token: z.string().min(1).max(512) }),
    reply: z.object({ text: z.string() }),
  },
  get_events: {
    runs: 'store',
    input: z.object({ since: z.int().nonnegative(), limit: z.int().positive().max(1000).optional() }),
    /** `resync`: events after `since` have been pruned, or `since` is ahead of the log. Load the board again. */
    reply: z.object({ events: z.array(z.custom<BoardEvent>(looksLikeEvent)), resync: z.boolean() }),
  },
  /** Subscribes this connection to the text deltas of exactly these stages. */
  watch: { runs: 'here', input: z.object({ stageIds: z.array(StageId).max(1000) }), reply: nothing },
  /** Finds words in titles, prompts, comments and transcripts. */
  search: {
    route: 'GET /api/search',
    runs: 'store',
    time: 'read',
    input: SearchQuery,
    reply: SearchReply,
    query: SearchQuery.extend({ limit: wholeNumber(1, 200).optional() }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const boardDocs = (): DocsOf<typeof boardCommands> => {
  const { stage } = the;

  return {
    get_board: {
      tag: 'board',
      summary: 'Get the board',
      description: 'The state at `seq`: an event stream opened with `since` of that number misses nothing.',
      example: { input: {}, reply: the.board(41) },
    },
    search: {
      tag: 'board',
      summary: 'Search titles, prompts, comments and transcripts',
      description:
        'Titles and prompts first, then comments and what was said, done and decided, newest first; other people’s drafts are left out. All words must occur in one text; "words in quotes" stand together; the last word may be unfinished. Any text is a valid query.',
      problems: ['unknown_project', 'search_unavailable'],
      example: {
        input: { q: 'rate limit', limit: 20 },
        reply: {
          results: [
            {
              stageId: stage.id,
              kind: 'text',
              index: 12,
              snippet: 'The rate limit is checked before the login',
              marks: [
                [4, 8],
                [9, 14],
              ],
              by: null,
              toolName: null,
              at: the.decision.at,
            },
          ],
          next: null,
          indexing: null,
        },
      },
    },
  };
};
