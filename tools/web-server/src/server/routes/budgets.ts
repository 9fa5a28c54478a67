import type { Relays } from './relay.ts';

/** How much stages may spend. */
export const budgetRelays = {
  get_budgets: {
    summary: 'List the budgets with what was spent',
    description:
      'Running turns are included as far as Claude Code has reported them: tokens with each model call, money every ten seconds or so, both exactly at the end of the turn. A day is the local day of the server. Tokens are those that Claude read and wrote, and wrote to its cache; reads from the cache do not count.',
  },
  put_budget: {
    summary: 'Set, change or remove a budget',
    description:
      '`scope` is `{stageId}`, `{projectId}`, `{day: true}` or `{}` for everything. Without `usd` and `tokens`, the budget is removed. At 80 % Callboard warns once. At 100 % it interrupts running turns, and neither starts stages nor delivers queued messages; `session.spentBudget` says so. With a larger budget, what waited goes on; a turn that was interrupted is continued by a person.',
    problems: ['unknown_stage', 'unknown_project'],
  },
} satisfies Relays;

/** Stages that one keeps from their work. */
export const beyondBudgetRelays = {
  continue_beyond_budget: {
    summary: 'Continue a stage once beyond its spent budget',
    description: 'Until its next turn has ended, no budget keeps the stage from its work.',
    problems: [
      ...(['unknown_stage', 'no_spent_budget', 'already_running', 'already_done', 'session_alarm'] as const),
      ...(['in_terminal', 'cannot_go_back', 'disk_low', 'waits_for_dependency'] as const),
    ],
  },
} satisfies Relays;
