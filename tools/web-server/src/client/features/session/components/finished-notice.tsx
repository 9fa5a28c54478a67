import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useUndoCompletion } from '../../../data/stage-commands.ts';
import { mergedText } from '../../../lib/merged-words.ts';
import css from './finish.module.css';

const SHOWN_MS = 10_000;
const idOf = (stage: StageView): string => `finished:${stage.id}`;

/** Says for ten seconds what became of a stage's work, with a way back. */
export function showFinished(stage: StageView): void {
  const { tone } = mergedText(stage);
  notifications.show({
    id: idOf(stage),
    title: `${stage.title} is done`,
    message: <FinishedNotice stage={stage} />,
    color: tone === 'merged' ? 'green' : 'gray',
    autoClose: SHOWN_MS,
  });
}

function FinishedNotice({ stage }: { stage: StageView }) {
  const undo = useUndoCompletion(stage.title);
  const { text, tone } = mergedText(stage);
  const hide = () => notifications.hide(idOf(stage));
  return (
    <div className={css.notice}>
      <span className={css.outcome} data-tone={tone}>
        {text}
      </span>
      <Button
        size="compact-sm"
        variant="default"
        loading={undo.isPending}
        onClick={() => undo.mutate(stage.id, { onSettled: hide })}
      >
        Undo
      </Button>
    </div>
  );
}
