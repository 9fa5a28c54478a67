import {
  type Completion,
  isActive,
  isOpenPullRequest,
  isWorking,
  MergeMethod,
  type MergePlan,
  type ProjectId,
  type StageId,
  type StageView,
} from '@callboard/contract';
import { Box, Button, Checkbox, Flex, Loader, SegmentedControl, Stack, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { z } from 'zod';
import { create } from 'zustand';
import { completionQuery, useAskClaude, useFinishStage, useTakeOutPlaceholders } from '../../data/complete-stage.tsx';
import { completeDialog, finishBar } from '../../data/dialogs.ts';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { useReturnToBranch, useTakeBranch } from '../../data/stage-commands.ts';
import { useReloadDiff, useShownChanges } from '../../data/stage-diff.ts';
import { readStored, writeStored } from '../../lib/browser-storage.ts';
import {
  actionText,
  askToCommit,
  askToFinishRebase,
  askToResolve,
  elsewhereButtons,
  finishOf,
  leftText,
  METHOD_NAMES,
  planText,
} from '../../lib/finish-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import css from '../../ui/finish.module.css';
import { ErrorNote } from '../../ui/notes.tsx';
import { Hint, Strip } from '../../ui/primitives.tsx';
import { MiddleCut } from '../../ui/text.tsx';
import { PullRequestPanel, useReadPullRequestPlan } from '../pull-requests/pull-request-panel.tsx';

interface FinishPanelProps {
  stage: StageView;
  done: () => void;
}

/** What can be done with a stage's work: one action that names its target, what it does in one line, and the lesser choices. */
function FinishPanel(props: FinishPanelProps) {
  const { stage } = props;
  const { id, projectId, pullRequest } = stage;
  const isOpen = pullRequest !== null && isOpenPullRequest(pullRequest);
  const [choice, choose] = useFinishChoice({ id, projectId, isOpen });
  const method = choice === 'pull-request' ? 'merge' : choice;
  const { data, error, isFetching, refetch } = useQuery(completionQuery(stage, method));
  if (stage.session !== null && isActive(stage.session.state))
    return (
      <p>
        {isWorking(stage.session.state)
          ? 'Claude is still working on this stage. Interrupt it or wait, then finish the stage.'
          : 'Claude is waiting for an answer in this stage. Answer or interrupt it, then finish the stage.'}
      </p>
    );
  if (error !== null)
    return <ErrorNote lead="The changes could not be read." error={error} stageId={id} retry={() => void refetch()} />;
  if (data === undefined) return <Loader size="sm" color="gray" role="img" aria-label="Reading the changes" />;
  const reading = { choice, method, choose, isReading: isFetching, readAgain: () => void refetch() };
  if (choice === 'pull-request' && data.plan !== null)
    return <ByPullRequest {...props} {...reading} completion={data} />;
  return <FinishForm {...props} {...reading} completion={data} />;
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
    <Stack gap="md">
      <PlaceholdersNote stage={stage} files={completion.plan?.placeholders ?? []} onTakenOut={readBoth} />
      <MergeWays method={choice} choose={choose} disabled={finish.isPending} />
      {isAway ? <p>{plan.refusal}</p> : <PullRequestPanel stage={stage} done={done} />}
      <ElsewhereActions {...props} plan={plan} />
      {finish.isError && <ErrorNote error={finish.error} stageId={stage.id} />}
      <div className={css.actions}>
        <CompleteOnly {...props} finish={finish} isLesser isOff={isOff} />
      </div>
    </Stack>
  );
}

function FinishForm(props: KnownProps) {
  const { stage, done, completion, choice, method, choose, readAgain } = props;
  const { plan } = completion;
  const check = useCheckAgain(stage, plan);
  const [written, write] = useState<Partial<Record<MergeMethod, string>>>({});
  const [receipt, setReceipt] = useState(false);
  const finish = useFinishStage(stage, done);
  const kind = finishOf(plan);
  const left = stage.completedAt === null ? leftText(plan) : null;
  const merges = check === null && (kind === 'merge' || kind === 'commit-and-merge');
  const hasMessage = merges && (kind === 'commit-and-merge' || method === 'squash');
  const message = written[method] ?? plan?.message ?? stage.title.trim();
  const isOther = plan !== null && plan.method !== method; // the answer about the chosen way is on its way
  const isOff = !useCanCommand() || finish.isPending || isOther;
  return (
    <Stack gap="md">
      {plan !== null && <PlaceholdersNote stage={stage} files={plan.placeholders} onTakenOut={readAgain} />}
      {check === null && plan !== null && kind !== 'nothing-to-merge' && (
        <MergeWays method={choice} choose={choose} disabled={finish.isPending} />
      )}
      <Text c={isOther ? 'dimmed' : undefined}>
        {check === null ? planText(plan, stage) : 'The work has changed since you looked at it.'}
      </Text>
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
          label="Record the approvals in a git note"
          checked={receipt}
          onChange={(event) => setReceipt(event.currentTarget.checked)}
        />
      )}
      {check === null && <ElsewhereActions {...props} plan={plan} />}
      {finish.isError && <ErrorNote error={finish.error} stageId={stage.id} />}
      {left !== null && <Hint>Without merging: {left}</Hint>}
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
    </Stack>
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
    <Box component="ul" ff="monospace" fz="row">
      {files.slice(0, NAMED).map((file) => (
        <li key={file}>
          <MiddleCut text={file} />
        </li>
      ))}
      {more > 0 && <Hint component="li">and {more} more</Hint>}
    </Box>
  );
}

interface CompleteOnlyProps extends KnownProps {
  finish: ReturnType<typeof useFinishStage>;
  /** Another action is likelier. */
  isLesser: boolean;
  isOff: boolean;
}

/** Completes the stage and leaves its work where it is. */
function CompleteOnly({ stage, completion, finish, isLesser, isOff }: CompleteOnlyProps) {
  const { plan } = completion;
  if (stage.completedAt !== null) return null;
  const kind = finishOf(plan);
  const isQuiet = isLesser || kind === 'conflict' || kind === 'refused';
  return (
    <Button
      variant={isQuiet ? 'subtle' : 'filled'}
      {...(isQuiet && { color: 'gray' })}
      disabled={isOff}
      loading={finish.isPending && finish.variables.merge === undefined}
      onClick={() => finish.mutate({})}
    >
      {leftText(plan) === null ? 'Finish' : 'Finish without merging'}
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
    completeDialog.close();
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

/** The end of the review, in the bar below the changes: what becomes of what was looked at. */
export const FinishSection = ({ stage }: { stage: StageView }) => (
  <Strip component="section" p="lg" mah="60vh" aria-label="Finish">
    <FinishPanel stage={stage} done={finishBar.close} />
  </Strip>
);

const KEY = 'callboard-merge-methods';

/** A way of finishing: one of merging here, or a pull request. */
const FinishChoice = z.enum([...MergeMethod.options, 'pull-request']);
type FinishChoice = z.infer<typeof FinishChoice>;

const Saved = z.record(z.string(), FinishChoice);

interface MergeMethods {
  /** By project. */
  methods: z.infer<typeof Saved>;
  /** By stage, for as long as the page lives: its pull request comes first until somebody chooses otherwise. */
  chosen: Readonly<Record<StageId, FinishChoice>>;
  choose(stage: FinishedStage, method: FinishChoice): void;
}

interface FinishedStage {
  id: StageId;
  projectId: ProjectId;
  /** Whether it has an open pull request. */
  isOpen: boolean;
}

/** What was chosen, kept by this browser. */
const useMergeMethods = create<MergeMethods>((set, get) => ({
  methods: readStored(KEY, Saved, {}),
  chosen: {},
  choose: ({ id, projectId }, method) => {
    const methods = { ...get().methods, [projectId]: method };
    set({ methods, chosen: { ...get().chosen, [id]: method } });
    writeStored(KEY, methods);
  },
}));

/**
 * How a stage is finished: as was chosen for it; by its pull request if that is open; as this browser chose last in the project;
 * with a merge commit if it never did.
 */
function useFinishChoice(stage: FinishedStage): [FinishChoice, (choice: FinishChoice) => void] {
  const chosen = useMergeMethods((state) => state.chosen[stage.id]);
  const usual = useMergeMethods(({ methods }) => methods[stage.projectId]) ?? 'merge';
  const choose = useMergeMethods((state) => state.choose);
  return [chosen ?? (stage.isOpen ? 'pull-request' : usual), (choice) => choose(stage, choice)];
}

interface ElsewhereActionsProps {
  stage: StageView;
  plan: MergePlan | null;
  readAgain: () => void;
  done: () => void;
}

/** What can be done with a worktree that is not on the stage's branch. */
function ElsewhereActions({ stage, plan, readAgain, done }: ElsewhereActionsProps) {
  const take = useTakeBranch(stage.title);
  const back = useReturnToBranch(stage.title);
  const ask = useAskClaude(stage, done);
  const isOff = !useCanCommand() || take.isPending || back.isPending;
  if (plan === null || plan.elsewhere === null) return null;
  const { operation, head } = plan.elsewhere;
  const buttons = elsewhereButtons(plan.elsewhere);
  const order = { stageId: stage.id, head };
  const then = { onSettled: readAgain };
  return (
    <div className={css.actions}>
      {buttons.rewind !== null && (
        <Button variant="default" disabled={isOff} loading={back.isPending} onClick={() => back.mutate(order, then)}>
          {buttons.rewind}
        </Button>
      )}
      {operation === 'rebase' && stage.session !== null && (
        <Button disabled={isOff} loading={ask.isPending} onClick={() => ask.mutate(askToFinishRebase)}>
          Ask Claude to finish it
        </Button>
      )}
      {buttons.take !== null && (
        <Button disabled={isOff} loading={take.isPending} onClick={() => take.mutate(order, then)}>
          {buttons.take}
        </Button>
      )}
    </div>
  );
}

const WAYS: { value: FinishChoice; label: string }[] = [
  { value: 'merge', label: METHOD_NAMES.merge },
  { value: 'squash', label: METHOD_NAMES.squash },
  { value: 'rebase', label: METHOD_NAMES.rebase },
  { value: 'pull-request', label: 'Pull request' },
];

/** The ways in which work comes into its target: here, or on the code host. */
function MergeWays({
  method,
  choose,
  disabled,
}: {
  method: FinishChoice;
  choose: (method: FinishChoice) => void;
  disabled: boolean;
}) {
  return (
    <SegmentedControl<FinishChoice>
      className={css.ways ?? ''}
      aria-label="How to finish"
      size="xs"
      data={WAYS}
      value={method}
      onChange={choose}
      disabled={disabled}
    />
  );
}

interface PlaceholdersNoteProps {
  stage: StageView;
  /** Files of the branch that only the sandbox had put there. */
  files: readonly string[];
  /** Reads the branch again. */
  onTakenOut: () => void;
}

/** Says which files of the branch are only placeholders of Claude Code's sandbox, and takes them out. */
function PlaceholdersNote({ stage, files, onTakenOut }: PlaceholdersNoteProps) {
  const takeOut = useTakeOutPlaceholders(stage, onTakenOut);
  const canCommand = useCanCommand();
  if (files.length === 0) return null;
  const what = files.length === 1 ? '1 file' : `${files.length} files`;
  return (
    <Flex component="section" direction="column" gap="md" aria-label="Placeholders of the sandbox">
      <p>
        {what} on this branch {files.length === 1 ? 'is' : 'are'} not the project’s: Claude Code’s sandbox had put{' '}
        {files.length === 1 ? 'it' : 'them'} there for a moment, empty, and{' '}
        {files.length === 1 ? 'it was' : 'they were'} committed by mistake.
      </p>
      <Box component="ul" ff="monospace" fz="row">
        {files.map((file) => (
          <li key={file}>
            <code>{file}</code>
          </li>
        ))}
      </Box>
      {takeOut.isError && <ErrorNote lead="Nothing was taken out." error={takeOut.error} stageId={stage.id} />}
      <div className={css.actions}>
        <Button disabled={!canCommand} loading={takeOut.isPending} onClick={() => takeOut.mutate(undefined)}>
          Take {files.length === 1 ? 'it' : 'them'} out
        </Button>
      </div>
    </Flex>
  );
}

/** Asks how the stage that somebody is about to finish or to merge is to be finished. */
export default function CompleteDialog() {
  const stageId = completeDialog.useSubject();
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (stageId === null ? undefined : stageOf(stageId)(view)),
  });
  const isGone = stageId !== null && stage === undefined;
  useEffect(() => {
    if (isGone) completeDialog.close();
  }, [isGone]);
  useEffect(() => completeDialog.close, []);
  return (
    <Dialog
      opened={stage !== undefined}
      close={completeDialog.close}
      title={stage === undefined ? 'Finish' : titleOf(stage)}
      size={600}
    >
      {stage !== undefined && <FinishPanel key={stage.id} stage={stage} done={completeDialog.close} />}
    </Dialog>
  );
}

const titleOf = ({ title, completedAt }: StageView): string =>
  completedAt === null ? `Finish ${title}` : `Merge ${title}`;
