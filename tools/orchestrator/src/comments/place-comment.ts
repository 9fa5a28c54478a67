import type { MisplacedFinding, NewComment, ReviewFinding, StageDiff, Worktree } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { CommentRecord } from '../store/records.ts';
import type { Contents } from '../worktrees/contents.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { quoteOf } from './review-message.ts';

type Lines = Pick<NewComment, 'path' | 'side' | 'line' | 'endLine'>;

/** Returns the lines that a comment is about, and the content that has them. @throws Rejection `bad_request` if there are none */
export async function linesAt(
  contents: Contents,
  { path, side, line, endLine = line }: Lines,
  { base, tree, files }: Pick<StageDiff, 'base' | 'tree' | 'files'>,
): Promise<{ version: string; quote: string }> {
  if (endLine < line) throw new Rejection('bad_request', 'The last line is before the first one.');
  const [before, after] = files.find((file) => file.path === path)?.version.split('..') ?? [];
  const changed = side === 'old' ? before : after;
  const version = changed ?? (await contents.versionIn(side === 'old' ? base : tree, path));
  const lines = version === null || version === '' ? null : await contents.lines(version);
  if (version === null || lines === null) {
    const when = side === 'old' ? 'before the changes' : 'with the changes';
    throw new Rejection('bad_request', `There is no text file ${path} ${when}.`);
  }
  if (endLine > lines.length)
    throw new Rejection('bad_request', `${path} has ${lines.length} lines there, so there is no line ${endLine}.`);
  return { version, quote: quoteOf(lines.slice(line - 1, endLine)) };
}

/** A finding with the content that has its lines. */
type Placed = Omit<ReviewFinding, 'endLine'> & Pick<CommentRecord, 'endLine' | 'version' | 'quote'>;

/** Finds the lines of findings in the changes that Claude was given. What names lines that are not there keeps its words, with why. */
export function pathFindingsOf(
  worktrees: Pick<Worktrees, 'withContents'>,
  worktree: Worktree,
  diff: StageDiff,
  findings: readonly ReviewFinding[],
): Promise<{ comments: Placed[]; misplaced: MisplacedFinding[] }> {
  return worktrees.withContents(worktree, async (contents) => {
    const comments: Placed[] = [];
    const misplaced: MisplacedFinding[] = [];
    for (const found of findings) {
      const finding = { ...found, path: withinWorktree(found.path, worktree.path) };
      try {
        const place = await linesAt(contents, finding, diff);
        comments.push({ ...finding, endLine: finding.endLine ?? finding.line, ...place });
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        misplaced.push({ ...finding, why: error.message });
      }
    }
    return { comments, misplaced };
  });
}

/** Claude reads files under their absolute paths, and names them so at times. */
function withinWorktree(path: string, worktree: string): string {
  const relative = path.startsWith(`${worktree}/`) ? path.slice(worktree.length + 1) : path;
  return relative.replace(/^(?:\.\/)+/, '');
}
