import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconArrowBackUp, IconCircleCheck, IconGitMerge } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { openCompleteDialog } from '../../../data/complete-dialog.ts';
import { useReopenStage, useUndoCompletion } from '../../../data/stage-commands.ts';
import { METHOD_NAMES } from '../../../lib/completion-words.ts';
import { count, exactTime } from '../../../lib/format.ts';
import { mergedText } from '../../../lib/merged-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { completionQuery } from '../api/completion.ts';
import css from './finish.module.css';

/** Asks how to complete the stage. `isQuiet` means that another action is likelier. */
export function CompleteActions({ stage, isQuiet }: { stage: StageView; isQuiet: boolean }) {
  const canCommand = useCanCommand();
  return (
    <Button
      variant={isQuiet ? 'default' : 'filled'}
      disabled={!canCommand}
      aria-haspopup="dialog"
      onClick={() => openCompleteDialog(stage.id)}
    >
      Complete
    </Button>
  );
}

/** What became of a done stage's work, and the ways back. A message reopens it as well. */
export function DoneActions({ stage }: { stage: StageView }) {
  const reopen = useReopenStage(stage.title);
  const canCommand = useCanCommand();
  const isUnmerged = stage.merged === null && stage.worktree !== null;
  return (
    <>
      <Outcome stage={stage} />
      {stage.merged !== null && stage.merged.pullRequest === null && <UndoMerge stage={stage} />}
      {isUnmerged && (
        <Button
          variant="default"
          leftSection={<IconGitMerge size={16} />}
          disabled={!canCommand}
          aria-haspopup="dialog"
          onClick={() => openCompleteDialog(stage.id)}
        >
          Merge
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<IconArrowBackUp size={16} />}
        disabled={!canCommand}
        loading={reopen.isPending}
        onClick={() => reopen.mutate(stage.id)}
      >
        Reopen
      </Button>
    </>
  );
}

function Outcome({ stage }: { stage: StageView }) {
  const { text, tone } = mergedText(stage);
  const { merged } = stage;
  const details =
    merged === null
      ? undefined
      : `${merged.pullRequest === null ? METHOD_NAMES[merged.method] : `Pull request #${merged.pullRequest}`}: ${count(merged.commits, 'commit')}, ${count(merged.files, 'file')} of ${merged.branch}, ${exactTime(merged.at)}`;
  const Icon = tone === 'merged' ? IconGitMerge : IconCircleCheck;
  return (
    <span className={css.outcome} data-tone={tone} title={details}>
      <Icon size={16} aria-hidden />
      {text}
    </span>
  );
}

/** Takes the merge back, while git can do that without losing anything. */
function UndoMerge({ stage }: { stage: StageView }) {
  const { data } = useQuery(completionQuery(stage));
  const undo = useUndoCompletion(stage.title);
  const canCommand = useCanCommand();
  if (data?.undo?.refusal !== null) return null;
  return (
    <Button variant="default" disabled={!canCommand} loading={undo.isPending} onClick={() => undo.mutate(stage.id)}>
      Undo merge
    </Button>
  );
}
