import type { CommandInput, CommandReply } from '@callboard/contract';
import * as the from './example-values.ts';

type Query = 'search' | 'get_numbers';
type QueryExamples = { readonly [T in Query]: { input: CommandInput<T>; reply: CommandReply<T> } };

const { project, stage, rule, session } = the;
const day = '2026-01-02';
const waited = { kind: 'approval', count: 12, waitedMs: 1_260_000 } as const;

/** Example calls of the queries across all stages. */
export const queryExamples: QueryExamples = {
  search: {
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
  get_numbers: {
    input: { days: 30, timeZone: 'Europe/Berlin' },
    reply: {
      from: '2025-12-04',
      to: day,
      timeZone: 'Europe/Berlin',
      since: '2025-12-03T23:00:00.000Z',
      until: '2026-01-02T23:00:00.000Z',
      waits: { days: [{ day, ...waited }], stages: [{ stageId: stage.id, ...waited }] },
      rules: {
        days: [{ day, count: 14 }],
        uses: [{ day, ruleId: rule.ruleId, count: 14 }],
        texts: [{ ruleId: rule.ruleId, rule: rule.rule, projectId: project.id }],
        medianWaitMs: 42_000,
        answers: 12,
      },
      spending: {
        timeZone: 'Etc/UTC',
        from: '2025-12-04',
        to: day,
        days: [{ day, projectId: project.id, usd: 4.2, tokens: 812_000 }],
      },
      timeline: {
        launches: [{ stageId: stage.id, startedAt: session.startedAt, endedAt: null }],
        leftOut: 0,
        starts: 1,
        ranMs: 3_600_000,
        waits: [{ stageId: stage.id, from: session.startedAt, to: null }],
        waitsLeftOut: 0,
        leastMs: 1_296_000,
      },
      stages: [{ stageId: stage.id, title: stage.title, projectId: project.id, isDeleted: false }],
    },
  },
};
