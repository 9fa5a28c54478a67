import { type CommandDefinitions, type DocsOf, wholeNumber } from './command.ts';
import * as the from './examples.ts';
import { Numbers, NumbersQuery } from './numbers.ts';

/** The command for charts, as `commands` has it. It counts for longer than a `read` may. */
export const numberCommands = {
  /** Counts what happened in the last days. */
  get_numbers: {
    route: 'GET /api/numbers',
    runs: 'store',
    input: NumbersQuery,
    reply: Numbers,
    query: NumbersQuery.extend({ days: wholeNumber(1, 366).optional() }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const numberDocs = (): DocsOf<typeof numberCommands> => {
  const { project, stage, rule, session } = the;
  const day = '2026-01-02';
  const waited = { kind: 'approval', count: 12, waitedMs: 1_260_000 } as const;

  return {
    get_numbers: {
      tag: 'board',
      summary: 'Get the numbers of the last days',
      description:
        'How long Claude waited for people, which calls rules let through and when sessions ran, by days of a time zone. A wait counts on the day on which it ended, whether by an answer, a time limit or the end of its process; calls that Claude Code decided without asking do not count. Spending is by the last days of the server, which its `from` and `to` name. How full the contexts are now is on the board.',
      example: {
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
    },
  };
};
