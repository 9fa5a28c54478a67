import {
  type FileDiff,
  type ReviewComment,
  ReviewComment as ReviewCommentSchema,
  type StageDiff,
} from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { openPage } from './open-page.tsx';
import { at, board, session, stage } from './samples.ts';

const [base, head, tree] = ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(40)];

/** The versions of each sample file, before and after. */
const VERSIONS = { old: '1'.repeat(16), new: '2'.repeat(16) };

export const fileDiff = (path: string, change: Partial<FileDiff> = {}): FileDiff => ({
  path,
  oldPath: null,
  status: 'modified',
  oldMode: '100644',
  newMode: '100644',
  additions: 1,
  deletions: 0,
  isBinary: false,
  version: `${VERSIONS.old}..${VERSIONS.new}`,
  isGenerated: false,
  ...change,
});

export const stageDiff = (files: FileDiff[], change: Partial<StageDiff> = {}): StageDiff => ({
  base,
  head,
  tree,
  branch: 'callboard/STAGE-1',
  files,
  unread: [],
  commits: [],
  since: null,
  ...change,
});

/** A draft of the person at the page, on line 1 of `a.ts`. */
export const reviewComment = (id: string, change: Record<string, unknown> = {}): ReviewComment =>
  ReviewCommentSchema.parse({
    id,
    stageId: 'STAGE-1',
    author: 'Ada',
    path: 'a.ts',
    side: 'new',
    line: 1,
    endLine: 1,
    version: VERSIONS.new,
    quote: 'one',
    text: `Comment ${id}`,
    state: 'draft',
    hasMoved: false,
    createdAt: at(0),
    sentAt: null,
    sentBy: null,
    messageId: null,
    answeredAt: null,
    isMine: true,
    ...change,
  });

/** Opens the changes of a stage whose last turn ended well. `patches` are by path; `diff` is what the list of files is read from, `address` the end of the page's. */
export async function openChanges(
  diff: StageDiff,
  patches: Readonly<Record<string, string | null>> = {},
  address = '',
) {
  const worktree = { path: '/w/STAGE-1', branch: diff.branch, base };
  const own = stage('STAGE-1', { title: 'Login form', worktree });
  const ended = { state: 'idle', lastTurn: { outcome: 'succeeded', message: '', at: own.createdAt } };
  const { user, server } = openPage(
    `/stages/STAGE-1?tab=changes${address}`,
    board({ stages: [{ stage: own, session: session('STAGE-1', ended) }] }),
  );
  server.answer({
    get_diff: ({ path }) => {
      const file = diff.files.find((one) => one.path === path);
      return { diff: file === undefined ? diff : { ...diff, files: [{ ...file, patch: patches[file.path] ?? null }] } };
    },
    get_comments: () => ({ comments: [] }),
    get_viewed: () => ({ viewed: {} }),
    get_side_runs: () => ({ runs: [] }),
  });
  const changes = within(await screen.findByRole('region', { name: 'Changes' }));
  const sent = (command: string) => server.received.filter((one) => one.command === command).map((one) => one.input);
  return { user, server, changes, sent };
}
