import {
  type CommentId,
  isActive,
  type ReviewComment,
  type StageDiff,
  type StageId,
  type StageView,
} from '@callboard/contract';
import type { CallOptions } from '@callboard/contract/client';
import { ActionIcon, Box, Button, Checkbox, Flex, Group, Stack, Text, Textarea } from '@mantine/core';
import {
  IconCheck,
  IconChevronDown,
  IconChevronUp,
  IconHistory,
  IconMessage,
  IconPencil,
  IconSend,
  IconSparkles,
  IconTrash,
} from '@tabler/icons-react';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ComponentType, type KeyboardEvent, useEffect, useEffectEvent, useRef, useState } from 'react';
import { finishBar } from '../../data/dialogs.ts';
import { commentsQuery } from '../../data/queries.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { authorText, linesText, restText, sendText, stateLabel } from '../../lib/comment-text.ts';
import { count } from '../../lib/format.ts';
import { pathText } from '../../lib/tool-text.ts';
import { untilDelivered } from '../../lib/until-delivered.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Hint, Output, RowButton, Strip, Tag } from '../../ui/primitives.tsx';
import { KeyHint } from '../../ui/shortcuts.tsx';
import { MiddleCut, Seen, TimeSince } from '../../ui/text.tsx';
import { AskForReview, ReviewOutcome } from '../review/claude-review.tsx';
import css from './comments.module.css';
import { focusChanges, useReviewUi, type Writing } from './line-selection.ts';

const PAUSE_MS = 400;
const NONE: readonly ReviewComment[] = [];

/** The comments on a stage's changes, oldest first. */
export const useComments = (stageId: StageId): readonly ReviewComment[] =>
  useQuery(commentsQuery(stageId)).data ?? NONE;

const save = (cache: QueryClient, comment: ReviewComment) =>
  cache.setQueryData(commentsQuery(comment.stageId).queryKey, (old) => {
    if (old === undefined) return old;
    const isKnown = old.some(({ id }) => id === comment.id);
    return isKnown ? old.map((one) => (one.id === comment.id ? comment : one)) : [...old, comment];
  });

const drop = (cache: QueryClient, stageId: StageId, id: CommentId) =>
  cache.setQueryData(commentsQuery(stageId).queryKey, (old) => old?.filter((comment) => comment.id !== id));

const storedOf = (cache: QueryClient, stageId: StageId, id: CommentId) =>
  cache.getQueryData(commentsQuery(stageId).queryKey)?.find((comment) => comment.id === id);

type Ends = Pick<StageDiff, 'base' | 'tree'>;

/** Stores the text of a comment: adds it as a draft, or changes the draft that is there. */
async function store(
  cache: QueryClient,
  stageId: StageId,
  { base, tree, ...writing }: Writing & Ends,
  options: CallOptions = {},
): Promise<void> {
  const { id, text, path, side, line, endLine } = writing;
  const stored = storedOf(cache, stageId, id);
  if (text.trim() === '') return;
  if (stored?.text === text) return useReviewUi.getState().stored(stageId, writing);
  const place = { path, side, line, endLine, base, tree };
  const added =
    stored ?? (await client.command('add_comment', { stageId, commentId: id, text, ...place }, options)).comment;
  // One that is known by its id stays as it is when it is added again.
  const edit = { stageId, commentId: id, text };
  save(cache, added.text === text ? added : (await client.command('edit_comment', edit, options)).comment);
  useReviewUi.getState().stored(stageId, writing);
}

/** Stores a comment while it is written, a moment after each pause, and when the page is left. One store waits for the last. */
export function useWriting(stageId: StageId, ends: Ends) {
  const cache = useQueryClient();
  const writing = useReviewUi((ui) => ui.writing[stageId]);
  const isLeft = useReviewUi((ui) => ui.left.has(stageId));
  const { data: comments } = useQuery(commentsQuery(stageId));
  const commentId = writing?.id;
  useEffect(() => {
    if (!isLeft || comments === undefined) return;
    useReviewUi.getState().join(stageId, comments.find(({ id }) => id === commentId)?.text ?? null);
  }, [stageId, isLeft, comments, commentId]);
  const saving = useMutation({
    scope: { id: `comment:${stageId}` },
    mutationFn: (one: Writing) =>
      untilDelivered((_attempt, signal) => store(cache, stageId, { ...one, ...ends }, { signal })),
  });
  const { mutate } = saving;
  const removing = useMutation({
    scope: { id: `comment:${stageId}` },
    mutationFn: async ({ id, original }: Writing) => {
      const stored = storedOf(cache, stageId, id);
      if (stored === undefined || stored.text === original) return;
      if (original !== null) {
        save(cache, (await client.command('edit_comment', { stageId, commentId: id, text: original })).comment);
        return;
      }
      await client.command('remove_comment', { stageId, commentId: id });
      drop(cache, stageId, id);
    },
  });
  useEffect(() => {
    if (writing === undefined || writing.text.trim() === '') return;
    const timer = setTimeout(() => mutate(writing), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [mutate, writing]);
  const leave = useEffectEvent(() => {
    if (writing !== undefined)
      void store(cache, stageId, { ...writing, ...ends }, { keepalive: true }).catch(() => undefined);
  });
  useEffect(() => {
    const listener = () => leave();
    window.addEventListener('pagehide', listener);
    return () => {
      window.removeEventListener('pagehide', listener);
      listener();
    };
  }, []);
  const [isFinishing, setFinishing] = useState(false);
  /** Leaves the box once the server has what was decided. */
  async function end(how: typeof saving | typeof removing): Promise<void> {
    const last = useReviewUi.getState().writing[stageId];
    if (last === undefined) return;
    setFinishing(true);
    try {
      await how.mutateAsync(last);
      const hasMore = how === saving && useReviewUi.getState().writing[stageId]?.text !== last.text;
      if (!hasMore) useReviewUi.getState().write(stageId, null);
    } finally {
      setFinishing(false);
    }
  }
  return {
    stageId,
    writing,
    isFinishing,
    error: saving.error ?? removing.error,
    /** Keeps it as a draft; resolves when the server has it. */
    finish: () => end((useReviewUi.getState().writing[stageId]?.text ?? '').trim() === '' ? removing : saving),
    /** Drops it: a new comment is gone, a changed one is as it was. */
    discard: () => end(removing),
  };
}

/** Removes a draft, or dismisses a finding. */
function useRemoveComment(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: (commentId: CommentId) => client.command('remove_comment', { stageId, commentId }),
    failed: 'The comment was not removed',
    done: ({ comment }) => void drop(cache, stageId, comment.id),
  });
}

/** Sends comments as one message. */
function useSendComments(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: (ids: CommentId[]) => client.command('send_comments', { stageId, ids }),
    done: ({ comments }) => {
      for (const comment of comments) save(cache, comment);
    },
  });
}

export interface CommentRowProps {
  stageId: StageId;
  me: string;
  /** Null for one that is being written and is not stored yet. */
  comment: ReviewComment | null;
  writing: ReturnType<typeof useWriting>;
  /** The comment that keys went to. */
  target: string | null;
  /** In the half of its side. */
  isAside: boolean;
}

/** A comment below the lines that it is about, or the box in which it is written. */
export function CommentRow({ comment, writing, isAside, ...shared }: CommentRowProps) {
  const own = writing.writing;
  const side = comment?.side ?? own?.side ?? 'new';
  const isWriting = own !== undefined && (comment === null || comment.id === own.id);
  return (
    <div className={css.place} data-side={isAside ? side : undefined}>
      {isWriting ? (
        <CommentComposer writing={own} parts={writing} />
      ) : (
        comment !== null && <CommentCard comment={comment} {...shared} />
      )}
    </div>
  );
}

const ICONS = { draft: IconPencil, sent: IconSend, answered: IconCheck, outdated: IconHistory } as const;

/** How far a comment is: an icon and a word. */
function CommentState({ comment }: { comment: ReviewComment }) {
  const Icon = ICONS[comment.state];
  return (
    <Flex component="span" gap="xs" align="center" fz="xs" c={comment.state === 'draft' ? 'var(--accent)' : 'dimmed'}>
      <Icon size={13} aria-hidden /> {stateLabel(comment)}
    </Flex>
  );
}

const SEVERITY = { high: 'High', medium: 'Medium', low: 'Low' } as const;

function CommentCard({
  stageId,
  me,
  comment,
  target,
}: Pick<CommentRowProps, 'stageId' | 'me' | 'target'> & { comment: ReviewComment }) {
  const card = useRef<HTMLElement>(null);
  const isTarget = target === comment.id;
  useEffect(() => {
    if (isTarget) card.current?.focus({ preventScroll: true });
  }, [isTarget]);
  const { path, side, line, endLine, text, id, isFinding, severity } = comment;
  const who = authorText(comment, me);
  const edit = () =>
    useReviewUi.getState().write(stageId, { path, side, line, endLine, id, text, original: text, isAsked: false });
  return (
    <article
      className={css.card}
      ref={card}
      tabIndex={-1}
      data-comment={id}
      data-state={comment.state}
      aria-label={`Comment of ${who} on ${linesText(comment)}: ${stateLabel(comment)}`}
    >
      <Flex component="header" align="center" wrap="wrap" gap="0 8px" mih={24}>
        {isFinding && <IconSparkles size={14} aria-hidden />}
        <strong>{who}</strong>
        {severity !== null && <Tag>{SEVERITY[severity]}</Tag>}
        <Hint span size="xs" className="figures">
          {linesText(comment)}
        </Hint>
        <Hint span size="xs" className="figures">
          <TimeSince at={comment.sentAt ?? comment.createdAt} ago />
        </Hint>
        <CommentState comment={comment} />
        {comment.isMine && <CommentActions stageId={stageId} comment={comment} edit={edit} />}
      </Flex>
      {comment.hasMoved && (
        <Output>
          <Seen text={comment.quote} kind="code" />
        </Output>
      )}
      <Text
        inherit
        className="pre-wrap"
        c={comment.state === 'draft' || comment.state === 'sent' ? undefined : 'dimmed'}
      >
        <Seen text={text} kind="prose" />
      </Text>
    </article>
  );
}

function CommentActions({ stageId, comment, edit }: { stageId: StageId; comment: ReviewComment; edit: () => void }) {
  const [isAsked, ask] = useState(false);
  const remove = useRemoveComment(stageId);
  const canCommand = useCanCommand();
  const verb = comment.isFinding ? 'Dismiss' : 'Remove';
  if (isAsked)
    return (
      <Flex component="span" align="center" wrap="wrap" gap="xs" ml="auto" fz="xs">
        <span>{verb} this comment?</span>
        <Button
          size="compact-xs"
          variant="default"
          autoFocus
          loading={remove.isPending}
          disabled={!canCommand}
          onClick={() => remove.mutate(comment.id)}
        >
          {verb}
        </Button>
        <Button size="compact-xs" variant="subtle" color="gray" onClick={() => ask(false)}>
          Keep
        </Button>
      </Flex>
    );
  return (
    <Flex component="span" align="center" wrap="wrap" gap="xs" ml="auto" fz="xs">
      <ActionIcon variant="subtle" color="gray" size={24} aria-label="Edit the comment" title="Edit" onClick={edit}>
        <IconPencil size={14} aria-hidden />
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        size={24}
        aria-label={`${verb} the comment`}
        title={verb}
        onClick={() => ask(true)}
      >
        <IconTrash size={14} aria-hidden />
      </ActionIcon>
    </Flex>
  );
}

interface ComposerProps {
  writing: Writing;
  parts: ReturnType<typeof useWriting>;
}

/** Where a comment is written. Its text is a draft from the first letter on; Escape asks only if text would be lost. */
function CommentComposer({ writing, parts }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const canCommand = useCanCommand();
  const { text, original, isAsked } = writing;
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
    box.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const done = () => {
    if (text.trim() === '') return;
    void parts.finish().then(focusChanges, () => undefined);
  };
  const leave = () => {
    const isLost = text.trim() !== '' && text !== original;
    const { stageId } = parts;
    if (isLost && !isAsked) useReviewUi.getState().ask(stageId, true);
    else void parts.discard().then(focusChanges, () => undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      if (isAsked) useReviewUi.getState().ask(parts.stageId, false);
      else leave();
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      done();
    }
  };
  return (
    <section ref={box} aria-label={`Comment on ${linesText(writing)}`}>
      <Stack py="xs">
        <Textarea
          ref={field}
          aria-label={`Comment on ${linesText(writing)}`}
          placeholder={`What should change in ${linesText(writing)}`}
          autosize
          minRows={2}
          maxRows={12}
          value={text}
          onChange={(event) => useReviewUi.getState().setText(parts.stageId, event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        {parts.error !== null && <ErrorNote lead="Not stored yet." error={parts.error} />}
        <Group justify="flex-end">
          {isAsked ? (
            <>
              <Text span mr="auto" size="row" role="alert">
                {original === null ? 'Discard this comment?' : 'Discard what you changed?'}
              </Text>
              <Button size="compact-sm" variant="default" onClick={leave}>
                Discard
              </Button>
              <Button size="compact-sm" autoFocus onClick={() => useReviewUi.getState().ask(parts.stageId, false)}>
                Keep writing
              </Button>
            </>
          ) : (
            <>
              <Button size="compact-sm" variant="subtle" color="gray" onClick={leave}>
                Cancel
              </Button>
              <Button
                size="compact-sm"
                variant="default"
                disabled={text.trim() === '' || !canCommand}
                loading={parts.isFinishing}
                rightSection={<KeyHint>Ctrl ↵</KeyHint>}
                onClick={done}
              >
                {original === null ? 'Add comment' : 'Save'}
              </Button>
            </>
          )}
        </Group>
      </Stack>
    </section>
  );
}

interface ReviewBarProps {
  stage: StageView;
  me: string;
  /** In the order of the changes. */
  comments: readonly ReviewComment[];
  /** Whether there is something to review. */
  hasChanges: boolean;
  writing: ReturnType<typeof useWriting>;
  goTo: (id: string) => void;
  /** How the stage is finished. */
  EndSlot: ComponentType<{ stage: StageView }> | undefined;
}

const isToSend = ({ state, isMine }: ReviewComment): boolean => state === 'draft' && isMine;

/** A review: what Claude's own found, the comments in a list that leads to each, the button that sends the chosen ones as one message, and how the stage is finished. */
export function ReviewBar({ stage, me, comments, hasChanges, writing, goTo, EndSlot }: ReviewBarProps) {
  const isFinishing = finishBar.useSubject() === stage.id;
  useEffect(() => finishBar.close, []);
  const isAtRest = stage.session === null || !isActive(stage.session.state);
  const canFinish = EndSlot !== undefined && hasChanges && stage.merged === null && isAtRest;
  const [isOpen, setOpen] = useState(false);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const send = useSendComments(stage.id);
  const canCommand = useCanCommand();
  const open = comments.filter(isToSend);
  const chosen = open.filter(({ id }) => !left.has(id));
  const rest = restText(comments);
  const choose = (id: string, isChosen: boolean) =>
    setLeft(new Set(isChosen ? [...left].filter((one) => one !== id) : [...left, id]));
  const ask = async () => {
    await writing.finish();
    send.mutate(chosen.map(({ id }) => id));
  };
  if (comments.length === 0 && !hasChanges) return null;
  return (
    <section className={css.bar} aria-label="Comments">
      <ReviewOutcome stage={stage} />
      {canFinish && isFinishing && <EndSlot stage={stage} />}
      {isOpen && <CommentList comments={comments} me={me} goTo={goTo} left={left} choose={choose} />}
      {send.isError && <ErrorNote lead="Not sent." error={send.error} stageId={stage.id} />}
      <Group flex="none" justify="space-between" mih={40} px="md" py="xs">
        {comments.length > 0 && (
          <Button
            variant="subtle"
            color="gray"
            size="compact-md"
            leftSection={<IconMessage size={14} />}
            rightSection={isOpen ? <IconChevronDown size={14} /> : <IconChevronUp size={14} />}
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {count(comments.length, 'comment')}
            {rest !== '' && (
              <Text span inherit c="dimmed" pl="sm">
                {rest}
              </Text>
            )}
          </Button>
        )}
        <Flex component="span" align="center" wrap="wrap" justify="flex-end" ml="auto" gap="sm">
          {hasChanges && <AskForReview stage={stage} />}
          {open.length > 0 && (
            <Button
              size="compact-md"
              disabled={!canCommand || stage.session === null || chosen.length === 0}
              loading={send.isPending}
              onClick={() => void ask().catch(() => undefined)}
            >
              {sendText(chosen.length)}
            </Button>
          )}
          {canFinish && (
            <Button
              size="compact-md"
              variant={open.length > 0 ? 'default' : 'filled'}
              rightSection={isFinishing ? <IconChevronDown size={14} /> : <IconChevronUp size={14} />}
              aria-expanded={isFinishing}
              onClick={() => (isFinishing ? finishBar.close() : finishBar.open(stage.id))}
            >
              {stage.completedAt === null ? 'Finish' : 'Merge'}
            </Button>
          )}
        </Flex>
      </Group>
    </section>
  );
}

interface CommentListProps extends Pick<ReviewBarProps, 'comments' | 'me' | 'goTo'> {
  /** Those that are not to be sent. */
  left: ReadonlySet<string>;
  choose: (id: string, isChosen: boolean) => void;
}

const CommentList = ({ comments, me, goTo, left, choose }: CommentListProps) => (
  <Strip component="ul" gap={0} p={0} mah="min(240px, 40vh)">
    {comments.map((comment) => (
      <Flex key={comment.id} component="li" align="center" wrap="nowrap" gap={0}>
        {isToSend(comment) && (
          <Checkbox
            pl="lg"
            aria-label={`Send the comment on ${linesText(comment)} of ${pathText(comment.path)}`}
            checked={!left.has(comment.id)}
            onChange={(event) => choose(comment.id, event.currentTarget.checked)}
          />
        )}
        <RowButton px="lg" onClick={() => goTo(comment.id)}>
          <Box component="span" flex={1} miw={0}>
            <Flex component="span" gap="sm" align="center">
              <code>
                <MiddleCut text={pathText(comment.path)} />
              </code>
              <Hint span size="xs" className="figures">
                {linesText(comment)}
              </Hint>
              <Box component="span" ml="auto">
                <CommentState comment={comment} />
              </Box>
            </Flex>
            <Text span inherit c="dimmed" truncate display="block">
              {authorText(comment, me)}: <Seen text={comment.text} kind="prose" />
            </Text>
          </Box>
        </RowButton>
      </Flex>
    ))}
  </Strip>
);
