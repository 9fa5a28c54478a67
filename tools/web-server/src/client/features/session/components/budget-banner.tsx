import { type StageView, scopeText, spentText } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconCoin } from '@tabler/icons-react';
import { useBudgetAtStage } from '../../../data/budgets.ts';
import { openBudgets } from '../../../data/budgets-dialog.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useContinueBeyond } from '../api/session-commands.ts';
import css from './stage-head.module.css';

/** A spent budget keeps the stage from its work: which one, and how it goes on. Nothing for any other stage. */
export function BudgetBanner({ stage }: { stage: StageView }) {
  const beyond = useContinueBeyond(stage.title);
  const canCommand = useCanCommand();
  const budget = useBudgetAtStage(stage);
  if (budget === null) return null;
  const isNew = stage.session === null;
  return (
    <section className={css.alarm} aria-labelledby="budget-spent">
      <IconCoin size={20} aria-hidden />
      <div>
        <h2 id="budget-spent">Budget spent: {spentText(budget)}</h2>
        <p>
          This is the budget {scopeText(budget.scope)}. {isNew ? 'The stage does not start' : 'Messages wait'} until it
          is raised. If {isNew ? 'started' : 'continued'} once, the stage works until its next turn ends.
        </p>
        <div className={css.alarmActions}>
          <Button disabled={!canCommand} onClick={() => openBudgets(budget.scope)}>
            Raise the budget
          </Button>
          <Button
            variant="default"
            disabled={!canCommand}
            loading={beyond.isPending}
            onClick={() => beyond.mutate(stage.id)}
          >
            {isNew ? 'Start once' : 'Continue once'}
          </Button>
        </div>
      </div>
    </section>
  );
}
