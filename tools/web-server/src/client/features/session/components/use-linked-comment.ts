import type { CommentId, FileDiff, ReviewComment } from '@callboard/contract';
import { useEffect, useEffectEvent, useState } from 'react';
import { useLocation, useSearchParams } from 'react-router';

/** The comment that the address names (`?comment=...`); null if it names none. */
export const useCommentOfAddress = (): string | null => useSearchParams()[0].get('comment');

/** Goes to the comment that the address names, once for each time that the address is followed. */
export function useLinkedComment(
  files: readonly FileDiff[],
  comments: readonly ReviewComment[],
  goTo: (id: CommentId) => void,
): void {
  const id = useCommentOfAddress();
  const { key } = useLocation();
  /** What comes later must not scroll away from where the reader is by then. */
  const [followed, setFollowed] = useState<string | null>(null);
  const comment = comments.find((one) => one.id === id);
  const isDue = followed !== key && files.some(({ path }) => path === comment?.path);
  const follow = useEffectEvent(() => {
    if (comment === undefined) return;
    setFollowed(key);
    goTo(comment.id);
  });
  useEffect(() => {
    if (isDue) follow();
  }, [isDue]);
}
