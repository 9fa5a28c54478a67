import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';

/** How many commits a drafted message lists. */
const LISTED = 50;

/** What a squash makes one commit of. */
export interface SquashedCommits {
  title: string;
  previous: string;
  head: string;
  since: string | null;
  /** Whether uncommitted work comes along. */
  hasMore: boolean;
}

/**
 * Drafts the message of a squash: the message of the only commit; otherwise the stage's title, and a list of the commits. Null
 * if there is no commit.
 */
export async function draftSquashMessage(git: Git, folder: string, squashed: SquashedCommits): Promise<string | null> {
  const { title, previous, head, since, hasMore } = squashed;
  const not = since === null ? [] : [`^${since}`];
  const which = ['rev-list', '--reverse', '--topo-order', '--no-merges', '--encoding=UTF-8'];
  const range = [`${previous}..${head}`, ...not];
  const reported = await git.must(folder, [...which, '--format=%x00%B%x00%s', ...range], NO_REPLACEMENTS);
  const [, ...parts] = reported.split('\0');
  const commits: { message: string; subject: string }[] = [];
  for (let at = 0; at < parts.length; at += 2)
    commits.push({ message: (parts[at] ?? '').trim(), subject: (parts[at + 1] ?? '').split('\n')[0] ?? '' });
  const [first] = commits;
  if (first === undefined) return null;
  if (commits.length === 1 && !hasMore) return first.message;
  const list = commits.slice(0, LISTED).map(({ subject }) => `* ${subject}`);
  const more = commits.length > LISTED ? [`... and ${commits.length - LISTED} more`] : [];
  return [title, '', ...list, ...more].join('\n');
}
