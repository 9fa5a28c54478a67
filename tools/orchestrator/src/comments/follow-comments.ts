import type { StageDiff, StageId } from '@callboard/contract';
import { sendComments } from '../domain/review-comments.ts';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import type { CommentRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Contents } from '../worktrees/contents.ts';
import type { LineHunk, LineRange } from '../worktrees/line-hunks.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';

interface FollowDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'withContents'>;
  /** Where lines are after a change. */
  followLines: (hunks: readonly LineHunk[], range: LineRange) => LineRange & { hasMoved: boolean };
}

type Location = Pick<CommentRecord, 'path' | 'line' | 'endLine' | 'version' | 'hasMoved'>;

/**
 * Returns what lets the comments of a stage follow the code whenever somebody looks at its changes: their lines stay those that
 * the person meant, and changed ones are marked.
 */
export function createCommentFollower({ store, worktrees, followLines }: FollowDeps) {
  const exclusively = createKeyedMutex();

  async function pathsIn(contents: Contents, diff: StageDiff, comments: readonly CommentRecord[]) {
    const known = new Map<string, LineHunk[] | null>();
    const hunks = async (from: string, to: string) => {
      const key = `${from} ${to}`;
      const found = known.has(key) ? (known.get(key) ?? null) : await contents.hunks(from, to);
      known.set(key, found);
      return found;
    };
    const places = new Map<string, Location>();
    for (const comment of comments) {
      const { path, version } = await fileNow(contents, diff, comment);
      if (path === comment.path && version === comment.version) continue;
      places.set(comment.id, { ...(await positionIn(comment, version, hunks)), path });
    }
    return places;
  }

  async function positionIn(
    comment: CommentRecord,
    version: string,
    hunks: (from: string, to: string) => Promise<LineHunk[] | null>,
  ): Promise<Omit<Location, 'path'>> {
    const { origin, line, endLine } = comment;
    if (version === origin.version) return { ...origin, hasMoved: false };
    const changes = version === '' || origin.version === '' ? null : await hunks(origin.version, version);
    if (changes === null) return { line, endLine, version, hasMoved: true };
    return { ...followLines(changes, origin), version };
  }

  return async (stageId: StageId, diff: StageDiff): Promise<void> => {
    if ((await store.read.comments.listOf(stageId)).length === 0) return;
    const worktree = (await store.read.stages.find(stageId))?.worktree ?? null;
    if (worktree === null) return;
    await exclusively(stageId, async () => {
      const comments = await store.read.comments.listOf(stageId);
      const places = await worktrees.withContents(worktree, (contents) => pathsIn(contents, diff, comments));
      if (places.size === 0) return;
      await store.transact(
        async (tx) => {
          for (const comment of await tx.comments.listOf(stageId)) {
            const place = places.get(comment.id);
            if (place !== undefined) await tx.comments.save({ ...comment, ...place });
          }
          await sendComments(tx, stageId);
        },
        { sync: 'later' },
      );
    });
  };
}

/** The file that a comment is on, as the changes name it now, and the version of its side; empty if it is gone. */
async function fileNow(
  contents: Contents,
  { base, tree, files }: StageDiff,
  { path, side }: CommentRecord,
): Promise<{ path: string; version: string }> {
  const file = files.find((one) => one.path === path) ?? files.find((one) => one.oldPath === path);
  if (file === undefined)
    return { path, version: (await contents.versionIn(side === 'old' ? base : tree, path)) ?? '' };
  const [before = '', after = ''] = file.version.split('..');
  return { path: file.path, version: side === 'old' ? before : after };
}
