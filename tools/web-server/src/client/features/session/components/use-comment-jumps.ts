import type { FileDiff, ReviewComment } from '@callboard/contract';
import { useEffect, useEffectEvent, useState } from 'react';
import type { ChangeRow } from '../model/change-rows.ts';

interface CommentJumpOptions {
  files: readonly FileDiff[];
  rows: readonly ChangeRow[];
  comments: readonly ReviewComment[];
  isOpen: (file: FileDiff) => boolean;
  open: (file: FileDiff) => void;
  show: (row: number) => void;
  showFile: (file: number) => void;
}

/** Goes to comments. The file of one is opened, and read, first. */
export function useCommentJumps(deps: CommentJumpOptions) {
  const { files, rows, comments } = deps;
  const [wanted, want] = useState<string | null>(null);
  const [target, setTarget] = useState<string | null>(null);
  const at = wanted === null ? -1 : rows.findIndex((row) => row.kind === 'comment' && row.id === wanted);
  const arrive = useEffectEvent(() => {
    if (at === -1) return;
    deps.show(at);
    setTarget(wanted);
    want(null);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the row of the comment is there
  useEffect(() => arrive(), [at, wanted]);

  function goTo(id: string): void {
    const comment = comments.find((one) => one.id === id);
    const file = files.findIndex(({ path }) => path === comment?.path);
    const own = files[file];
    if (own === undefined) return;
    if (!deps.isOpen(own)) deps.open(own);
    if (!rows.some((row) => row.kind === 'comment' && row.id === id)) deps.showFile(file);
    setTarget(null);
    want(id);
  }

  function goToNext(by: 1 | -1): void {
    const shown = comments.filter(({ path }) => files.some((file) => file.path === path));
    const from = shown.findIndex(({ id }) => id === target);
    const next = from === -1 ? shown.at(by > 0 ? 0 : -1) : shown[from + by];
    if (next !== undefined) goTo(next.id);
  }

  return { target, goTo, goToNext };
}
