import type { SandboxFailure, StageId } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconShieldCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { useSetSandbox } from '../../../data/stage-commands.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { blockedText } from '../model/blocked-words.ts';
import css from './tool-card.module.css';

/** What the sandbox blocked, with a button that turns the sandbox off for the stage. */
export function SandboxBlocked({ stageId, failure }: { stageId: StageId; failure: SandboxFailure }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const set = useSetSandbox(stage?.title ?? stageId);
  const canCommand = useCanCommand();
  const { blocked, hint } = blockedText(failure.detail);
  return (
    <div className={css.blocked} role="note">
      <IconShieldCheck size={16} aria-hidden />
      <div>
        <p>
          {failure.isCertain ? 'The sandbox blocked this' : 'The sandbox may be why this failed'}:{' '}
          <Seen text={blocked} kind="command" />. {hint}
        </p>
        {stage?.sandbox === false ? (
          <p>The sandbox is off for this stage from its next start.</p>
        ) : (
          <Button
            variant="default"
            size="compact-sm"
            disabled={!canCommand}
            loading={set.isPending}
            onClick={() => set.mutate({ stageId, sandbox: false })}
          >
            Turn the sandbox off for this stage
          </Button>
        )}
      </div>
    </div>
  );
}
