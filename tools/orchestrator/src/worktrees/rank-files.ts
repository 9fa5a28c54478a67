/** How well a path fits, the least best; null where it does not. */
function rankOf(path: string, query: string): number | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (name.startsWith(query)) return 0;
  if (path.startsWith(query) || path.includes(`/${query}`)) return 1;
  if (name.includes(query)) return 2;
  if (path.includes(query)) return 3;
  return holdsInOrder(path, query) ? 4 : null;
}

/** Whether the letters of the query stand in the path in this order, whatever stands between them. */
function holdsInOrder(path: string, query: string): boolean {
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

/** Among equals the one that is nearer to the top, then the shorter, then by the alphabet. */
function before(a: Ranked, b: Ranked): boolean {
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
 * The paths that fit what was typed, the best first: their name begins with it, a folder or a later part does, they
 * hold it, or its letters in this order. Upper and lower case are the same. One pass, whatever the number of paths.
 */
export function rankFiles(paths: readonly string[], query: string, limit: number): string[] {
  const wanted = query.toLowerCase();
  const best: Ranked[] = [];
  for (const path of paths) {
    const rank = rankOf(path.toLowerCase(), wanted);
    if (rank === null) continue;
    const ranked = { path, rank };
    const last = best.at(-1);
    if (best.length === limit && last !== undefined && !before(ranked, last)) continue;
    const place = best.findIndex((other) => before(ranked, other));
    best.splice(place === -1 ? best.length : place, 0, ranked);
    if (best.length > limit) best.pop();
  }
  return best.map(({ path }) => path);
}
