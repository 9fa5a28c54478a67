import type { Git } from './git/git.ts';

/** Every letter that a person types asks for the list; git reads it again after this long. */
const FRESH_MS = 5_000;

/** As many as a list beneath a text box can show. */
const LIMIT = 20;

/**
 * Returns the files of a checkout that match the query, best first: files that git tracks, and new ones that it does not ignore.
 * @throws OperationalError `worktree_failed`
 */
export type SuggestFiles = (checkout: string, query: string) => Promise<string[]>;

/** Keeps each list of files for five seconds, so that people who type at the same time cost one run of git. */
export function createFileSuggestions(git: Git): SuggestFiles {
  const lists = new Map<string, Promise<readonly string[]>>();

  async function read(checkout: string): Promise<readonly string[]> {
    const [listed, deleted] = await Promise.all([
      git.must(checkout, ['ls-files', '-z', '--cached', '--others', '--exclude-standard']),
      git.must(checkout, ['ls-files', '-z', '--deleted']),
    ]);
    const gone = new Set(deleted.split('\0'));
    return [...new Set(listed.split('\0'))].filter((path) => path !== '' && !gone.has(path));
  }

  function filesOf(checkout: string): Promise<readonly string[]> {
    const known = lists.get(checkout);
    if (known !== undefined) return known;
    const list = read(checkout);
    lists.set(checkout, list);
    const forget = () => lists.delete(checkout);
    list.then(() => setTimeout(forget, FRESH_MS).unref(), forget);
    return list;
  }

  return async (checkout, query) => rankFiles(await filesOf(checkout), query, LIMIT);
}

/** Returns how well a path matches: 0 is best, null is no match. */
function rankOf(path: string, query: string): number | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (name.startsWith(query)) return 0;
  if (path.startsWith(query) || path.includes(`/${query}`)) return 1;
  if (name.includes(query)) return 2;
  if (path.includes(query)) return 3;
  return isSubsequence(path, query) ? 4 : null;
}

/** Whether the path has the letters of the query in this order, with anything between them. */
function isSubsequence(path: string, query: string): boolean {
  let from = 0;
  for (const letter of query) {
    const at = path.indexOf(letter, from);
    if (at === -1) return false;
    from = at + letter.length;
  }
  return true;
}

interface Ranked {
  path: string;
  rank: number;
}

/** Whether `a` goes first: by rank, then fewer folders, then shorter, then alphabetically. */
function goesFirst(a: Ranked, b: Ranked): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  const depth = depthOf(a.path) - depthOf(b.path);
  if (depth !== 0) return depth < 0;
  return a.path.length === b.path.length ? a.path < b.path : a.path.length < b.path.length;
}

function depthOf(path: string): number {
  let depth = 0;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) depth += 1;
  return depth;
}

/**
 * Returns the paths that match the query, best first: the file's name begins with it, a folder's name does, the name or the
 * path contains it, or the path has its letters in order. Ignores case. One pass over all paths.
 */
export function rankFiles(paths: readonly string[], query: string, limit: number): string[] {
  const wanted = query.toLowerCase();
  const best: Ranked[] = [];
  for (const path of paths) {
    const rank = rankOf(path.toLowerCase(), wanted);
    if (rank === null) continue;
    const ranked = { path, rank };
    const last = best.at(-1);
    if (best.length === limit && last !== undefined && !goesFirst(ranked, last)) continue;
    const place = best.findIndex((other) => goesFirst(ranked, other));
    best.splice(place === -1 ? best.length : place, 0, ranked);
    if (best.length > limit) best.pop();
  }
  return best.map(({ path }) => path);
}
