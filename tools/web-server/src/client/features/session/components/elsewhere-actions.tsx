import type { MergePlan, StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useReturnToBranch, useTakeBranch } from '../../../data/stage-commands.ts';
import { askToFinishRebase, elsewhereButtons } from '../../../lib/completion-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useAskClaude } from '../api/completion.ts';
import css from './finish.module.css';

interface ElsewhereActionsProps {
  stage: StageView;
  plan: MergePlan | null;
  readAgain: () => void;
  done: () => void;
}

/** What can be done with a worktree that is not on the stage's branch. */
export function ElsewhereActions({ stage, plan, readAgain, done }: ElsewhereActionsProps) {
  const take = useTakeBranch(stage.title);
  const back = useReturnToBranch(stage.title);
  const ask = useAskClaude(stage, done);
  const isOff = !useCanCommand() || take.isPending || back.isPending;
  if (plan === null || plan.elsewhere === null) return null;
  const { operation, head } = plan.elsewhere;
  const buttons = elsewhereButtons(plan.elsewhere);
  const order = { stageId: stage.id, head };
  const then = { onSettled: readAgain };
  return (
    <div className={css.actions}>
      {buttons.rewind !== null && (
        <Button variant="default" disabled={isOff} loading={back.isPending} onClick={() => back.mutate(order, then)}>
          {buttons.rewind}
        </Button>
      )}
      {operation === 'rebase' && stage.session !== null && (
        <Button disabled={isOff} loading={ask.isPending} onClick={() => ask.mutate(askToFinishRebase)}>
          Ask Claude to finish it
        </Button>
      )}
      {buttons.take !== null && (
        <Button disabled={isOff} loading={take.isPending} onClick={() => take.mutate(order, then)}>
          {buttons.take}
        </Button>
      )}
    </div>
  );
}
