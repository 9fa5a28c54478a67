import type { StageId, StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { closeMomentDialog, type MomentAction, useMomentDialog } from '../../../data/moment-dialog.ts';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { ForkForm } from './fork-form.tsx';
import { RewindForm } from './go-back-form.tsx';

interface MomentDialogProps {
  /** Puts the text of a message that was taken back into the message box of its stage. */
  offerText: (stageId: StageId, text: string) => void;
}

/** Asks before a stage goes back to a message, or is forked there. */
export default function MomentDialog({ offerText }: MomentDialogProps) {
  const action = useMomentDialog();
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (action === null ? undefined : stageOf(action.stageId)(view)),
  });
  const isGone = action !== null && stage === undefined;
  useEffect(() => {
    if (isGone) closeMomentDialog();
  }, [isGone]);
  useEffect(() => closeMomentDialog, []);
  // Stays while the dialog closes, so that the focus goes back to where it was.
  const [last, setLast] = useState<{ action: MomentAction; stage: StageView } | null>(null);
  if (action !== null && stage !== undefined && (action !== last?.action || stage !== last.stage))
    setLast({ action, stage });
  if (last === null) return null;
  const { kind } = last.action;
  return (
    <Dialog
      opened={action !== null && stage !== undefined}
      close={closeMomentDialog}
      title={kind === 'back' ? 'Back to here' : 'Fork from here'}
      size={600}
    >
      {kind === 'back' ? (
        <RewindForm key={last.action.message.id} {...last} offerText={offerText} />
      ) : (
        <ForkForm key={last.action.message.id} {...last} />
      )}
    </Dialog>
  );
}
