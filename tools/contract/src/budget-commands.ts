import { z } from 'zod';
import { Budget, BudgetBody } from './budgets.ts';
import { StageId } from './ids.ts';
import { SessionSummary } from './sessions.ts';

/** The commands about budgets. */
export const budgetCommands = {
  get_budgets: { time: 'read', input: z.object({}), reply: z.object({ budgets: z.array(Budget) }) },
  /** Sets, changes or removes a budget. What waited for it goes on; a turn that it interrupted is continued by a person. */
  put_budget: { input: BudgetBody, reply: z.object({ budgets: z.array(Budget) }) },
  /** Continues a stage once beyond its spent budgets: until its next turn has ended. */
  continue_beyond_budget: {
    time: 'slow',
    input: z.object({ stageId: StageId }),
    reply: z.object({ session: SessionSummary }),
  },
} as const;
