import type { StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { closeCompleteDialog, useCompleteDialogStage } from '../../../data/complete-dialog.ts';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { FinishPanel } from './finish-panel.tsx';

/** Asks how the stage that somebody is about to complete or to merge is to be finished. */
export default function CompleteDialog() {
  const stageId = useCompleteDialogStage();
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (stageId === null ? undefined : stageOf(stageId)(view)),
  });
  const isGone = stageId !== null && stage === undefined;
  useEffect(() => {
    if (isGone) closeCompleteDialog();
  }, [isGone]);
  useEffect(() => closeCompleteDialog, []);
  return (
    <Dialog
      opened={stage !== undefined}
      close={closeCompleteDialog}
      title={stage === undefined ? 'Complete' : titleOf(stage)}
      size={600}
    >
      {stage !== undefined && <FinishPanel key={stage.id} stage={stage} isDialog done={closeCompleteDialog} />}
    </Dialog>
  );
}

const titleOf = ({ title, completedAt }: StageView): string =>
  completedAt === null ? `Complete ${title}` : `Merge ${title}`;
