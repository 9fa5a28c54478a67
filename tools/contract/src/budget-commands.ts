import { z } from 'zod';
import { Budget, BudgetBody } from './budgets.ts';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { SessionSummary } from './sessions.ts';

/** The commands about budgets. */
export const budgetCommands = {
  get_budgets: {
    route: 'GET /api/budgets',
    runs: 'store',
    time: 'read',
    input: z.object({}),
    reply: z.object({ budgets: z.array(Budget) }),
  },
  /** Sets, changes or removes a budget. What waited for it goes on; a turn that it interrupted is continued by a person. */
  put_budget: {
    route: 'PUT /api/budgets',
    runs: 'store',
    input: BudgetBody,
    reply: z.object({ budgets: z.array(Budget) }),
  },
  /** Continues a stage once beyond its spent budgets: until its next turn has ended. */
  continue_beyond_budget: {
    route: 'POST /api/stages/:stageId/continue-beyond-budget',
    runs: 'owner',
    time: 'slow',
    input: z.object({ stageId: StageId }),
    reply: z.object({ session: SessionSummary }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const budgetDocs = (): DocsOf<typeof budgetCommands> => {
  const budget = Budget.parse({
    scope: { projectId: the.project.id },
    usd: 20,
    tokens: null,
    spent: { usd: 4.2, tokens: 310_000 },
  });

  return {
    get_budgets: {
      tag: 'board',
      summary: 'List the budgets with what was spent',
      description:
        'Running turns are included as far as Claude Code has reported them: tokens with each model call, money every ten seconds or so, both exactly at the end of the turn. A day is the local day of the server. Tokens are those that Claude read and wrote, and wrote to its cache; reads from the cache do not count.',
      example: { input: {}, reply: { budgets: [budget] } },
    },
    put_budget: {
      tag: 'board',
      summary: 'Set, change or remove a budget',
      description:
        '`scope` is `{stageId}`, `{projectId}`, `{day: true}` or `{}` for everything. Without `usd` and `tokens`, the budget is removed. At 80 % Callboard warns once. At 100 % it interrupts running turns, and neither starts stages nor delivers queued messages; `session.spentBudget` says so. With a larger budget, what waited goes on; a turn that was interrupted is continued by a person.',
      problems: ['unknown_stage', 'unknown_project'],
      example: { input: { scope: budget.scope, usd: 20 }, reply: { budgets: [budget] } },
    },
    continue_beyond_budget: {
      tag: 'sessions',
      summary: 'Continue a stage once beyond its spent budget',
      description: 'Until its next turn has ended, no budget keeps the stage from its work.',
      problems: [
        ...(['unknown_stage', 'no_spent_budget', 'already_running', 'already_done', 'session_alarm'] as const),
        ...(['in_terminal', 'cannot_go_back', 'disk_low', 'waits_for_dependency'] as const),
      ],
      example: { input: { stageId: the.stage.id }, reply: { session: SessionSummary.parse(the.session) } },
    },
  };
};
