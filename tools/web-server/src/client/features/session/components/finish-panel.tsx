import {
  type Completion,
  isActive,
  isOpenPullRequest,
  isWorking,
  type MergeMethod,
  type MergePlan,
  type StageView,
} from '@callboard/contract';
import { Button, Checkbox, Loader, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { closeCompleteDialog, openCompleteDialog } from '../../../data/complete-dialog.ts';
import {
  actionText,
  askToCommit,
  askToResolve,
  draftMessage,
  finishOf,
  leftText,
  needsAsking,
  planText,
} from '../../../lib/completion-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { MiddleCut } from '../../../ui/middle-cut.tsx';
import { completionQuery, useAskClaude, useFinishStage } from '../api/completion.ts';
import { useReadPullRequestPlan } from '../api/pull-request.ts';
import { useReloadDiff } from '../api/stage-diff.ts';
import { type FinishChoice, useFinishChoice } from '../model/merge-method.ts';
import { useShownChanges } from '../model/shown-changes.ts';
import { ElsewhereActions } from './elsewhere-actions.tsx';
import css from './finish.module.css';
import { MergeWays } from './merge-ways.tsx';
import { PlaceholdersNote } from './placeholders-note.tsx';
import { PullRequestPanel } from './pull-request-panel.tsx';

interface FinishPanelProps {
  stage: StageView;
  /** In the dialog, one press may leave work behind: the dialog has said so. Elsewhere such a press opens it. */
  isDialog?: boolean;
  done: () => void;
}

/** What can be done with a stage's work: one action that names its target, what it does in one line, and the lesser choices. */
export function FinishPanel(props: FinishPanelProps) {
  const { stage } = props;
  const { id, projectId, pullRequest } = stage;
  const isOpen = pullRequest !== null && isOpenPullRequest(pullRequest);
  const [choice, choose] = useFinishChoice({ id, projectId, isOpen });
  const method = choice === 'pull-request' ? 'merge' : choice;
  const { data, error, isFetching, refetch } = useQuery(completionQuery(stage, method));
  if (stage.session !== null && isActive(stage.session.state))
    return (
      <p className={css.line}>
        {isWorking(stage.session.state)
          ? 'Claude is still working on this stage. Interrupt it or wait, then complete the stage.'
          : 'Claude is waiting for an answer in this stage. Answer or interrupt it, then complete the stage.'}
      </p>
    );
  if (error !== null)
    return <ErrorNote lead="The changes could not be read." error={error} stageId={id} retry={() => void refetch()} />;
  if (data === undefined) return <Loader size="sm" color="gray" role="img" aria-label="Reading the changes" />;
  const reading = { choice, method, choose, isReading: isFetching, readAgain: () => void refetch() };
  if (choice === 'pull-request' && data.plan !== null)
    return <ByPullRequest {...props} {...reading} completion={data} />;
  return <RowCaches {...props} {...reading} completion={data} />;
}

interface KnownProps extends FinishPanelProps {
  completion: Completion;
  choice: FinishChoice;
  /** The way of merging here. */
  method: MergeMethod;
  choose: (choice: FinishChoice) => void;
  isReading: boolean;
  readAgain: () => void;
}

/** Finishes by a pull request; the stage is done when that is merged, or at once by the lesser button. */
function ByPullRequest(props: KnownProps) {
  const { stage, choice, choose, done, completion, readAgain } = props;
  const { plan } = completion;
  const isAway = plan !== null && plan.elsewhere !== null && plan.refusal !== null;
  const readRemote = useReadPullRequestPlan(stage);
  const readBoth = () => {
    readAgain();
    readRemote();
  };
  const finish = useFinishStage(stage, done);
  const isOff = !useCanCommand() || finish.isPending;
  return (
    <div className={css.finish}>
      <PlaceholdersNote stage={stage} files={completion.plan?.placeholders ?? []} onTakenOut={readBoth} />
      <MergeWays method={choice} choose={choose} disabled={finish.isPending} />
      {isAway ? <p className={css.line}>{plan.refusal}</p> : <PullRequestPanel stage={stage} done={done} />}
      <ElsewhereActions {...props} plan={plan} />
      {finish.isError && <ErrorNote error={finish.error} stageId={stage.id} />}
      <div className={css.actions}>
        <CompleteOnly {...props} finish={finish} isLesser isOff={isOff} />
      </div>
    </div>
  );
}

function RowCaches(props: KnownProps) {
  const { stage, isDialog = false, done, completion, choice, method, choose, readAgain } = props;
  const { plan } = completion;
  const check = useCheckAgain(stage, plan);
  const [written, write] = useState<Partial<Record<MergeMethod, string>>>({});
  const [receipt, setReceipt] = useState(false);
  const finish = useFinishStage(stage, done);
  const kind = finishOf(plan);
  const left = stage.completedAt === null ? leftText(plan) : null;
  const merges = check === null && (kind === 'merge' || kind === 'commit-and-merge');
  const hasMessage = merges && (kind === 'commit-and-merge' || method === 'squash');
  const message = written[method] ?? plan?.message ?? draftMessage(stage);
  const isOther = plan !== null && plan.method !== method; // the answer about the chosen way is on its way
  const isOff = !useCanCommand() || finish.isPending || isOther;
  return (
    <div className={css.finish}>
      {plan !== null && <PlaceholdersNote stage={stage} files={plan.placeholders} onTakenOut={readAgain} />}
      {check === null && plan !== null && kind !== 'nothing-to-merge' && (
        <MergeWays method={choice} choose={choose} disabled={finish.isPending} />
      )}
      <p className={css.line} data-stale={isOther || undefined}>
        {check === null ? planText(plan, stage) : 'The work has changed since you looked at it.'}
      </p>
      {check === null && kind === 'conflict' && <ConflictingFiles files={plan?.conflicts ?? []} />}
      {hasMessage && (
        <Textarea
          label="Commit message"
          value={message}
          onChange={(event) => write({ ...written, [method]: event.currentTarget.value })}
          autosize
          minRows={2}
          maxRows={8}
        />
      )}
      {merges && stage.session !== null && (
        <Checkbox
          label="Add the receipt as a git note: what people allowed"
          checked={receipt}
          onChange={(event) => setReceipt(event.currentTarget.checked)}
        />
      )}
      {check === null && <ElsewhereActions {...props} plan={plan} />}
      {finish.isError && <ErrorNote error={finish.error} stageId={stage.id} />}
      {isDialog && left !== null && <p className={css.left}>Without merging: {left}</p>}
      <div className={css.actions}>
        <CompleteOnly {...props} finish={finish} isLesser={merges || check !== null} isOff={isOff} />
        {check === null ? <OtherWays {...props} plan={plan} /> : <Button onClick={check}>Look at the changes</Button>}
        {merges && plan !== null && (
          <Button
            disabled={isOff || (hasMessage && message.trim() === '')}
            loading={finish.isPending && finish.variables.merge !== undefined}
            onClick={() =>
              finish.mutate({ ...orderOf(plan, message), ...(receipt && { receipt }) }, { onError: readAgain })
            }
          >
            {actionText(plan)}
          </Button>
        )}
      </div>
    </div>
  );
}

/** What is sent is what the plan showed. */
const orderOf = ({ method, head, tree, uncommittedCount }: MergePlan, message: string) => ({
  merge: method,
  head,
  tree,
  ...(uncommittedCount > 0 && { commit: { message } }),
  ...(method === 'squash' && { message }),
});

/** How many conflicting files are named. */
const NAMED = 8;

function ConflictingFiles({ files }: { files: readonly string[] }) {
  const more = files.length - NAMED;
  return (
    <ul className={css.files}>
      {files.slice(0, NAMED).map((file) => (
        <li key={file}>
          <MiddleCut text={file} />
        </li>
      ))}
      {more > 0 && <li className={css.left}>and {more} more</li>}
    </ul>
  );
}

interface CompleteOnlyProps extends KnownProps {
  finish: ReturnType<typeof useFinishStage>;
  /** Another action is likelier. */
  isLesser: boolean;
  isOff: boolean;
}

/** Completes the stage and leaves its work where it is. */
function CompleteOnly({ stage, isDialog = false, completion, finish, isLesser, isOff }: CompleteOnlyProps) {
  const { plan } = completion;
  if (stage.completedAt !== null) return null;
  const kind = finishOf(plan);
  const isQuiet = isLesser || kind === 'conflict' || kind === 'refused';
  const complete = () => {
    if (!isDialog && needsAsking(plan)) openCompleteDialog(stage.id);
    else finish.mutate({});
  };
  return (
    <Button
      variant={isQuiet ? 'subtle' : 'filled'}
      {...(isQuiet && { color: 'gray' })}
      disabled={isOff}
      loading={finish.isPending && finish.variables.merge === undefined}
      onClick={complete}
    >
      {leftText(plan) === null ? 'Complete' : 'Complete without merging'}
    </Button>
  );
}

/** Shows the changes as they are now, if a person was shown others before; null if not. Nobody merges what they did not look at. */
function useCheckAgain({ id }: StageView, plan: MergePlan | null): (() => void) | null {
  const shown = useShownChanges((state) => state.shown[id]);
  const reload = useReloadDiff(id);
  const navigate = useNavigate();
  if (shown === undefined || plan === null || (shown.head === plan.head && shown.tree === plan.tree)) return null;
  return () => {
    closeCompleteDialog();
    reload();
    void navigate(`/stages/${id}?tab=changes`);
  };
}

/** What else leads on: Claude commits, or resolves conflicts; or a person has changed something and asks again. */
function OtherWays({ stage, plan, done, isReading, readAgain }: KnownProps & { plan: MergePlan | null }) {
  const ask = useAskClaude(stage, done);
  const canCommand = useCanCommand();
  const kind = finishOf(plan);
  if (plan === null) return null;
  const asks = (text: string, order: string, isFirst: boolean) =>
    stage.session !== null && (
      <Button
        variant={isFirst ? 'filled' : 'default'}
        disabled={!canCommand}
        loading={ask.isPending}
        onClick={() => ask.mutate(order)}
      >
        {text}
      </Button>
    );
  if (kind === 'conflict') return asks('Give the conflict to Claude', askToResolve(plan), true);
  if (kind === 'commit-and-merge') return asks('Ask Claude to commit', askToCommit, false);
  if (kind !== 'refused') return null;
  return (
    <>
      {/* Without a target, it is the main checkout that has to be mended: a commit here changes nothing. */}
      {plan.into !== null && plan.uncommittedCount > 0 && asks('Ask Claude to commit', askToCommit, false)}
      <Button variant={plan.elsewhere === null ? 'filled' : 'default'} loading={isReading} onClick={readAgain}>
        Check again
      </Button>
    </>
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
