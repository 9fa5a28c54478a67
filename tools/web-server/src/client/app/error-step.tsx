import type { StageId, StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useLocation, useNavigate } from 'react-router';
import { boardQuery } from '../data/queries.ts';
import { useRemakeWorktree, useReopenStage, useStartStage } from '../data/stage-commands.ts';
import { useBoardUi } from '../features/board/model/board-ui.ts';
import { CopyLine } from '../ui/copy-line.tsx';
import { type FarStepProps, StepButton } from '../ui/error-note.tsx';

/** The button of an error's step. Nothing if the page is there already, or the stage is not on the board. */
export function ErrorStepButton({ step, stageId, done }: FarStepProps) {
  const cache = useQueryClient();
  const { data: stages = [] } = useQuery({ ...boardQuery, select: (view) => view.stages });
  const stage = stages.find(({ id }) => id === stageId);
  switch (step) {
    case 'refresh':
      return (
        <StepButton
          onClick={() => {
            void cache.invalidateQueries();
            done();
          }}
        >
          Refresh
        </StepButton>
      );
    case 'mend-claude':
      return <ClaudeCommand />;
    case 'show-board':
      return <Go to="/" label="Show the board" done={done} />;
  }
  if (stage === undefined) return null;
  switch (step) {
    case 'show-stage':
      return <Go to={`/stages/${stage.id}`} label="Show the stage" done={done} />;
    case 'show-dependency': {
      const first = stages.find(({ id, completedAt }) => stage.dependsOn.includes(id) && completedAt === null);
      return first === undefined ? null : <Go to={`/stages/${first.id}`} label={`Show ${first.title}`} done={done} />;
    }
    case 'edit-stage':
      return <Edit stageId={stage.id} done={done} />;
    case 'start-stage':
    case 'reopen-stage':
      return <Act stage={stage} isStart={step === 'start-stage'} done={done} />;
    case 'remake-worktree':
      return <Remake stage={stage} done={done} />;
    default:
      return step satisfies never;
  }
}

/** The command that installs or updates Claude Code, as this machine's check found it. */
function ClaudeCommand() {
  const { data: command = null } = useQuery({ ...boardQuery, select: (view) => view.claude.command });
  return command === null ? null : <CopyLine text={command} />;
}

function Go({ to, label, done }: { to: string; label: string; done: () => void }) {
  if (useLocation().pathname === to) return null;
  return (
    <Button component={Link} to={to} size="compact-md" onClick={done}>
      {label}
    </Button>
  );
}

/** Opens the form over the board. A stage that was started keeps what it would change. */
function Edit({ stageId, done }: { stageId: StageId; done: () => void }) {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const open = () => {
    useBoardUi.getState().open({ kind: 'edit-stage', stageId });
    if (pathname !== '/') void navigate('/');
    done();
  };
  return <StepButton onClick={open}>Edit the stage</StepButton>;
}

function Remake({ stage, done }: { stage: StageView; done: () => void }) {
  const remake = useRemakeWorktree(stage.title, false);
  return (
    <StepButton loading={remake.isPending} onClick={() => remake.mutate(stage.id, { onSuccess: done })}>
      Make the worktree again
    </StepButton>
  );
}

function Act({ stage, isStart, done }: { stage: StageView; isStart: boolean; done: () => void }) {
  const start = useStartStage(stage.title);
  const reopen = useReopenStage(stage.title);
  const act = isStart ? start : reopen;
  const run = () => act.mutate(stage.id, { onSuccess: done });
  return (
    <StepButton loading={act.isPending} onClick={run}>
      {isStart ? 'Start the stage' : 'Reopen'}
    </StepButton>
  );
}
