import { type Completion, isActive, type MergePlan, type StageView } from '@callboard/contract';
import { Button, Loader, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { closeCompleteDialog, openCompleteDialog } from '../../../data/complete-dialog.ts';
import { errorText } from '../../../lib/api-client.ts';
import {
  askToCommit,
  askToResolve,
  draftMessage,
  finishOf,
  leftWords,
  needsAsking,
  planWords,
} from '../../../lib/completion-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { completionQuery, useAskClaude, useFinishStage } from '../api/completion.ts';
import { stageDiffQuery, useReloadDiff } from '../api/stage-diff.ts';
import css from './finish.module.css';

interface FinishPanelProps {
  stage: StageView;
  /** In the dialog, one press may leave work behind: the dialog has said so. Elsewhere such a press opens it. */
  isDialog?: boolean;
  done: () => void;
}

/** What can be done with a stage's work: one action that names its target, what it does in one line, and the lesser choices. */
export function FinishPanel(props: FinishPanelProps) {
  const { stage } = props;
  const { data, error, isFetching, refetch } = useQuery(completionQuery(stage));
  if (stage.session !== null && isActive(stage.session.state))
    return <p className={css.line}>Claude still works on this stage. Interrupt it or wait, then complete the stage.</p>;
  if (error !== null) return <FailureNote>The changes could not be read. {errorText(error)}</FailureNote>;
  if (data === undefined) return <Loader size="sm" color="gray" aria-label="Reading the changes" />;
  return <Known {...props} completion={data} isReading={isFetching} readAgain={() => void refetch()} />;
}

interface KnownProps extends FinishPanelProps {
  completion: Completion;
  isReading: boolean;
  readAgain: () => void;
}

function Known({ stage, isDialog = false, done, completion, isReading, readAgain }: KnownProps) {
  const { plan } = completion;
  const look = useLookAgain(stage, plan);
  const [message, setMessage] = useState(() => draftMessage(stage));
  const finish = useFinishStage(stage, done);
  const kind = finishOf(plan);
  const isDone = stage.completedAt !== null;
  const left = isDone ? null : leftWords(plan);
  const commits = kind === 'commit-and-merge';
  const off = !useCanCommand() || finish.isPending;
  const seen = plan === null ? {} : { head: plan.head, tree: plan.tree };
  const merge = () =>
    finish.mutate({ merge: true, ...(commits && { commit: { message } }), ...seen }, { onError: readAgain });
  const complete = () => {
    if (!isDialog && needsAsking(plan)) openCompleteDialog(stage.id);
    else finish.mutate({});
  };
  const isOutdated = look !== null;
  const merges = !isOutdated && (kind === 'merge' || commits);
  const isLesser = merges || isOutdated || kind === 'conflict' || kind === 'refused';
  return (
    <div className={css.finish}>
      <p className={css.line}>{isOutdated ? 'The work has changed since you looked at it.' : planWords(plan, stage)}</p>
      {merges && commits && (
        <Textarea
          label="Commit message"
          value={message}
          onChange={(event) => setMessage(event.currentTarget.value)}
          autosize
          minRows={2}
          maxRows={8}
        />
      )}
      {finish.isError && <FailureNote>{errorText(finish.error)}</FailureNote>}
      {isDialog && left !== null && <p className={css.left}>Without merging: {left}</p>}
      <div className={css.actions}>
        {!isDone && (
          <Button
            variant={isLesser ? 'subtle' : 'filled'}
            {...(isLesser && { color: 'gray' })}
            disabled={off}
            loading={finish.isPending && finish.variables.merge !== true}
            onClick={complete}
          >
            {left === null ? 'Complete' : 'Complete without merging'}
          </Button>
        )}
        {isOutdated ? (
          <Button onClick={look}>Look at the changes</Button>
        ) : (
          <AskClaude stage={stage} plan={plan} done={done} />
        )}
        {!isOutdated && kind === 'refused' && (
          <Button loading={isReading} onClick={readAgain}>
            Check again
          </Button>
        )}
        {merges && (
          <Button
            disabled={off || (commits && message.trim() === '')}
            loading={finish.isPending && finish.variables.merge === true}
            onClick={merge}
          >
            {commits ? 'Commit and merge' : 'Merge'} into {plan?.into}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Shows the changes as they are now, if a person was shown others before; null if not. Nobody merges what they did not look at. */
function useLookAgain({ id }: StageView, plan: MergePlan | null): (() => void) | null {
  const { data: shown } = useQuery({ ...stageDiffQuery(id), enabled: false });
  const reload = useReloadDiff(id);
  const navigate = useNavigate();
  if (shown === undefined || plan === null || (shown.head === plan.head && shown.tree === plan.tree)) return null;
  return () => {
    closeCompleteDialog();
    reload();
    void navigate(`/stages/${id}?tab=changes`);
  };
}

/** What only Claude can do before a merge: commit with its own message, or resolve conflicts. */
function AskClaude({ stage, plan, done }: { stage: StageView; plan: MergePlan | null; done: () => void }) {
  const ask = useAskClaude(stage, done);
  const canCommand = useCanCommand();
  const kind = finishOf(plan);
  if (stage.session === null || plan === null) return null;
  if (kind === 'conflict')
    return (
      <Button
        disabled={!canCommand}
        loading={ask.isPending}
        onClick={() => ask.mutate(askToResolve(plan.into ?? plan.branch))}
      >
        Ask Claude to resolve it
      </Button>
    );
  if (kind !== 'commit-and-merge' && !(kind === 'refused' && plan.uncommittedCount > 0)) return null;
  return (
    <Button variant="default" disabled={!canCommand} loading={ask.isPending} onClick={() => ask.mutate(askToCommit)}>
      Ask Claude to commit
    </Button>
  );
}

/** The end of the review: what becomes of what was looked at. */
export function FinishSection({ stage }: { stage: StageView }) {
  if (stage.merged !== null) return null;
  return (
    <section className={css.end} aria-label="Finish">
      <FinishPanel stage={stage} done={() => undefined} />
    </section>
  );
}
