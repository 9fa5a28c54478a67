import type { RewindPlan, StageId, StageView } from '@callboard/contract';
import { Button, Checkbox, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { closeMomentDialog, type MomentAction } from '../../../data/moment-dialog.ts';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { LineCounts } from '../../../ui/line-counts.tsx';
import { Note } from '../../../ui/note.tsx';
import { rewindPlanQuery, useRewind } from '../api/going-back.ts';
import { useInterrupt } from '../api/session-commands.ts';
import { conversationText, isWorking, possible, type Wants } from '../model/going-back-words.ts';
import css from './moment-dialog.module.css';
import { RewindFiles } from './rewind-files.tsx';

interface RewindFormProps {
  action: MomentAction;
  stage: StageView;
  offerText: (stageId: StageId, text: string) => void;
}

/** Shows what would go back, lets a person choose, and does it. */
export function RewindForm({ action, stage, offerText }: RewindFormProps) {
  const { message } = action;
  const { session } = stage;
  const works = isWorking(stage);
  const asOf = `${session?.state} ${session?.lastTurn?.at} ${session?.goneBack.length}`;
  const back = useRewind(stage.id, (text, { conversation }) => {
    if (conversation) offerText(stage.id, text);
    closeMomentDialog();
  });
  // Its events may be here before its answer. What has gone back is not compared again.
  const hasGone = back.isPending || back.isSuccess;
  const plan = useQuery({
    ...rewindPlanQuery(stage.id, message.id, asOf),
    enabled: !works && !hasGone,
    placeholderData: (before) => (hasGone ? before : undefined),
  });
  const [left, setLeft] = useState<Wants>({ files: false, conversation: false });
  const can = plan.data === undefined ? { files: false, conversation: false } : possible(plan.data);
  const wants: Wants = { files: can.files && !left.files, conversation: can.conversation && !left.conversation };
  const canCommand = useCanCommand();
  return (
    <div className={css.body}>
      <div className={css.message}>{message.text}</div>
      {works ? (
        <Working stage={stage} />
      ) : (
        <>
          {plan.isLoading && <p className={css.quiet}>Comparing with the files from then...</p>}
          {plan.error !== null && (
            <ErrorNote
              lead="The stage cannot go back to this point."
              error={plan.error}
              stageId={stage.id}
              retry={() => void plan.refetch()}
            />
          )}
          {plan.data !== undefined && (
            <Plan plan={plan.data} wants={wants} choose={(change) => setLeft({ ...left, ...change })} />
          )}
        </>
      )}
      {back.error !== null && <ErrorNote lead="Nothing was restored." error={back.error} stageId={stage.id} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={closeMomentDialog} data-autofocus>
          Cancel
        </Button>
        <Button
          loading={back.isPending}
          disabled={!canCommand || works || (!wants.files && !wants.conversation)}
          onClick={() => back.mutate({ messageId: message.id, ...wants })}
        >
          Go back
        </Button>
      </Group>
    </div>
  );
}

/** Claude has to stop first. */
function Working({ stage }: { stage: StageView }) {
  const interrupt = useInterrupt(stage.title);
  return (
    <Note>
      <p>Claude is working on {stage.title}. Interrupt it first: going back changes the files under it.</p>
      <Button
        variant="default"
        mt={8}
        disabled={!useCanCommand()}
        loading={interrupt.isPending}
        onClick={() => interrupt.mutate(stage.id)}
      >
        Interrupt
      </Button>
    </Note>
  );
}

interface PlanProps {
  plan: RewindPlan;
  wants: Wants;
  /** True: it stays as it is. */
  choose: (left: Partial<Wants>) => void;
}

function Plan({ plan, wants, choose }: PlanProps) {
  const { files, filesProblem, conversation, conversationProblem } = plan;
  const can = possible(plan);
  return (
    <>
      <Checkbox
        label="Conversation"
        description={conversation === null ? conversationProblem : conversationText(conversation)}
        checked={wants.conversation}
        disabled={!can.conversation}
        onChange={(event) => choose({ conversation: !event.currentTarget.checked })}
      />
      <Checkbox
        label="Files"
        description={files === null ? filesProblem : <FilesText files={files} />}
        checked={wants.files}
        disabled={!can.files}
        onChange={(event) => choose({ files: !event.currentTarget.checked })}
      />
      {files !== null && <RewindFiles files={files} />}
      <p className={css.quiet}>
        The current state is kept, so you can undo this until the next message.
        {wants.conversation && ' The text of the message goes into the message box, if that is empty.'}
      </p>
    </>
  );
}

function FilesText({ files: { counts } }: { files: NonNullable<RewindPlan['files']> }) {
  if (counts.files === 0) return 'Nothing that can be restored has changed since.';
  return (
    <>
      {count(counts.files, 'file')} {counts.files === 1 ? 'changes' : 'change'}{' '}
      <LineCounts added={counts.additions} removed={counts.deletions} />
    </>
  );
}
