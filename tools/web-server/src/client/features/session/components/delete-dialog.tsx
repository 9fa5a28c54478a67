import type { StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { closeDeleteDialog, useDeleteDialogStage } from '../../../data/delete-dialog.ts';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { useDeleteStage } from '../../../data/stage-commands.ts';
import { ConfirmDelete } from '../../../ui/confirm-delete.tsx';

/** Asks whether the stage that somebody is about to delete is to be deleted. */
export default function DeleteDialog() {
  const stageId = useDeleteDialogStage();
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (stageId === null ? undefined : stageOf(stageId)(view)),
  });
  const isGone = stageId !== null && stage === undefined;
  useEffect(() => {
    if (isGone) closeDeleteDialog();
  }, [isGone]);
  useEffect(() => closeDeleteDialog, []);
  // Stays while the dialog closes, so that the focus goes back to where it was.
  const [last, setLast] = useState(stage);
  if (stage !== undefined && stage !== last) setLast(stage);
  return last === undefined ? null : <Asked key={last.id} stage={last} opened={stage !== undefined} />;
}

function Asked({ stage, opened }: { stage: StageView; opened: boolean }) {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const remove = useDeleteStage(stage.title, () => {
    closeDeleteDialog();
    if (pathname === `/stages/${stage.id}`) void navigate('/');
  });
  return (
    <ConfirmDelete
      stageId={stage.id}
      opened={opened}
      title={stage.title}
      busy={remove.isPending}
      confirm={(buildFolders) => remove.mutate({ stageId: stage.id, buildFolders })}
      close={closeDeleteDialog}
    />
  );
}
