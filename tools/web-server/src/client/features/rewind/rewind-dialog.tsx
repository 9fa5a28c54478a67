import {
  isActive,
  type NotSaved,
  type RewindBlocked,
  type RewindPlan,
  type StageId,
  type StageView,
} from '@callboard/contract';
import { Button, Checkbox, Flex, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { type MomentAction, momentDialog } from '../../data/dialogs.ts';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { rewindPlanQuery, useForkStage, useRewind } from '../../data/rewind.ts';
import { useInterrupt } from '../../data/session-commands.ts';
import { count, formatSize } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { ScrollList } from '../../ui/primitives.tsx';
import { Seen } from '../../ui/text.tsx';
import { LineCounts } from '../../ui/tool-input.tsx';

interface MomentDialogProps {
  /** Puts the text of a message that was taken back into the message box of its stage. */
  offerText: (stageId: StageId, text: string) => void;
}

/** Asks before a stage goes back to a message, or is forked there. */
export default function MomentDialog({ offerText }: MomentDialogProps) {
  const action = momentDialog.useSubject();
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (action === null ? undefined : stageOf(action.stageId)(view)),
  });
  const isGone = action !== null && stage === undefined;
  useEffect(() => {
    if (isGone) momentDialog.close();
  }, [isGone]);
  useEffect(() => momentDialog.close, []);
  // Stays while the dialog closes, so that the focus goes back to where it was.
  const [last, setLast] = useState<{ action: MomentAction; stage: StageView } | null>(null);
  if (action !== null && stage !== undefined && (action !== last?.action || stage !== last.stage))
    setLast({ action, stage });
  if (last === null) return null;
  const { kind } = last.action;
  return (
    <Dialog
      opened={action !== null && stage !== undefined}
      close={momentDialog.close}
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

interface ForkFormProps {
  action: MomentAction;
  stage: StageView;
}

/** Says what a fork has and what stays, and makes it. */
function ForkForm({ action, stage }: ForkFormProps) {
  const { message } = action;
  const [title, setTitle] = useState(`${stage.title} (fork)`);
  const navigate = useNavigate();
  const canCommand = useCanCommand();
  const fork = useForkStage(stage.id, (made) => {
    momentDialog.close();
    void navigate(`/stages/${made}`);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() !== '' && canCommand && !fork.isPending)
      fork.mutate({ messageId: message.id, title: title.trim() });
  };
  return (
    <Flex component="form" direction="column" gap="md" onSubmit={submit}>
      <Text className="pre-wrap" lineClamp={3} px="sm" py="xs" bg="var(--accent-soft)" bdrs="md">
        {message.text}
      </Text>
      <p>
        Makes a new stage on a branch of its own, with the conversation and the files from before this message. The
        message becomes its prompt, which you can edit before you start it.
      </p>
      <TextInput
        label="Title"
        value={title}
        maxLength={300}
        data-autofocus
        onChange={(event) => setTitle(event.currentTarget.value)}
      />
      <Text c="dimmed">
        {stage.title} stays as it is. Ignored files, nested repositories and files over 50 MB are not copied.
      </Text>
      {fork.error !== null && <ErrorNote lead="The stage was not forked." error={fork.error} stageId={stage.id} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={momentDialog.close}>
          Cancel
        </Button>
        <Button type="submit" loading={fork.isPending} disabled={!canCommand || title.trim() === ''}>
          Fork
        </Button>
      </Group>
    </Flex>
  );
}

interface RewindFormProps {
  action: MomentAction;
  stage: StageView;
  offerText: (stageId: StageId, text: string) => void;
}

/** Shows what would go back, lets a person choose, and does it. */
function RewindForm({ action, stage, offerText }: RewindFormProps) {
  const { message } = action;
  const { session } = stage;
  const works = isWorking(stage);
  const asOf = `${session?.state} ${session?.lastTurn?.at} ${session?.goneBack.length}`;
  const back = useRewind(stage.id, (text, { conversation }) => {
    if (conversation) offerText(stage.id, text);
    momentDialog.close();
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
    <Stack gap="md">
      <Text className="pre-wrap" lineClamp={3} px="sm" py="xs" bg="var(--accent-soft)" bdrs="md">
        {message.text}
      </Text>
      {works ? (
        <Working stage={stage} />
      ) : (
        <>
          {plan.isLoading && <Text c="dimmed">Comparing with the files from then...</Text>}
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
        <Button variant="default" onClick={momentDialog.close} data-autofocus>
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
    </Stack>
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
      <Text c="dimmed">
        The current state is kept, so you can undo this until the next message.
        {wants.conversation && ' The text of the message goes into the message box, if that is empty.'}
      </Text>
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

type Files = NonNullable<RewindPlan['files']>;

/** What becomes of a file; nothing is said of one that only changes. */
const fileText = ({ status }: Files['changes'][number]): string | null =>
  status === 'added' ? 'comes back' : status === 'deleted' ? 'is removed' : null;

const BLOCKED: Readonly<Record<RewindBlocked['reason'], string>> = {
  'in-the-way': 'something that is not kept stands in its place',
  submodule: 'a repository of its own',
  name: 'its name is not UTF-8',
  'changed-since': 'changed meanwhile',
};

const NOT_SAVED: Readonly<Record<NotSaved['reason'], string>> = {
  ignored: 'ignored by git',
  'nested-repository': 'a repository of its own',
  'too-large': 'over 50 MB',
  unreadable: 'cannot be read',
};

interface StayingText {
  path: string;
  why: string;
}

/** What differs from then and cannot be restored. */
const blockedFiles = ({ blocked }: Files): StayingText[] =>
  blocked.map(({ path, reason }) => ({ path, why: BLOCKED[reason] }));

/** What is in no snapshot. */
const unsavedFiles = ({ notKept }: Files): StayingText[] =>
  notKept.map(({ path, reason, bytes }) => ({ path, why: bytes === null ? NOT_SAVED[reason] : formatSize(bytes) }));

/** What happens to the commits since that moment; null if there are none. */
const commitsText = ({ commits }: Files): string | null =>
  commits === 0
    ? null
    : `${count(commits, 'commit')} since then ${commits === 1 ? 'stays' : 'stay'} on the branch. What ${commits === 1 ? 'it' : 'they'} changed shows as uncommitted changes that revert it.`;

/** What happens to the conversation. */
function conversationText({ messages, isNew }: NonNullable<RewindPlan['conversation']>): string {
  const taken = `${messages === 1 ? 'This message' : `${messages} messages`} and all that followed are taken back.`;
  return isNew
    ? `${taken} The next message begins a new conversation.`
    : `${taken} Claude goes on from what was said before.`;
}

/** What a person wants to go back with. */
export interface Wants {
  files: boolean;
  conversation: boolean;
}

/** What can go back: files only if one would change. */
const possible = ({ files, conversation }: RewindPlan): Wants => ({
  files: files !== null && files.counts.files > 0,
  conversation: conversation !== null,
});

/** Whether Claude has to be interrupted before the stage goes back. */
const isWorking = ({ session }: StageView): boolean => session !== null && isActive(session.state);

/** Every file that goes back, what differs and stays, and what is in no snapshot. */
function RewindFiles({ files }: { files: Files }) {
  const { changes, counts } = files;
  const commits = commitsText(files);
  const blocked = blockedFiles(files);
  const unsaved = unsavedFiles(files);
  const more = counts.files - changes.length;
  return (
    <>
      {changes.length > 0 && (
        <ScrollList aria-label="Files that change">
          {changes.map((file) => (
            <li key={file.path}>
              <Path path={file.path} />
              <Text span c="dimmed" inherit flex="none">
                {fileText(file)} <LineCounts added={file.additions} removed={file.deletions} />
              </Text>
            </li>
          ))}
          {more > 0 && <li>and {more} more</li>}
        </ScrollList>
      )}
      {commits !== null && <Text c="dimmed">{commits}</Text>}
      {blocked.length > 0 && (
        <Note>
          {count(blocked.length, 'file')} cannot be restored and {blocked.length === 1 ? 'stays' : 'stay'} as{' '}
          {blocked.length === 1 ? 'it is' : 'they are'}:
          <Staying files={blocked} label="Cannot be restored" />
        </Note>
      )}
      {unsaved.length > 0 && (
        <details>
          <Text component="summary" c="dimmed">
            Not part of this: {count(unsaved.length, 'file or folder', 'files and folders')} that Callboard does not
            keep
          </Text>
          <Staying files={unsaved} label="Not kept" />
        </details>
      )}
    </>
  );
}

const Staying = ({ files, label }: { files: readonly { path: string; why: string }[]; label: string }) => (
  <ScrollList aria-label={label}>
    {files.map(({ path, why }) => (
      <li key={path}>
        <Path path={path} />
        <Text span c="dimmed" inherit flex="none">
          {why}
        </Text>
      </li>
    ))}
  </ScrollList>
);

const Path = ({ path }: { path: string }) => (
  <code>
    <Seen text={path} kind="command" />
  </code>
);
