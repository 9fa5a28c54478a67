import type { CommentId, ReviewComment, StageDiff, StageId } from '@callboard/contract';
import type { CallOptions } from '@callboard/contract/client';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useState } from 'react';
import { commentsQuery } from '../../../data/review-queries.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';
import { untilDelivered } from '../../../lib/until-delivered.ts';
import { useReviewUi, type Writing } from '../model/review-ui.ts';

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
export function useRemoveComment(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: (commentId: CommentId) => client.command('remove_comment', { stageId, commentId }),
    failed: 'The comment was not removed',
    done: ({ comment }) => void drop(cache, stageId, comment.id),
  });
}

/** Sends comments as one message. */
export function useSendComments(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: (ids: CommentId[]) => client.command('send_comments', { stageId, ids }),
    done: ({ comments }) => {
      for (const comment of comments) save(cache, comment);
    },
  });
}
