import type { Git } from './run-git.ts';

/** A list is asked for with every letter that is typed; git is asked again after this long. */
const FRESH_MS = 5_000;

/**
 * The files of a checkout: those that git tracks and the new ones that it does not ignore, relative to its top.
 * @throws OperationalError `worktree_failed`
 */
export type FileLists = (checkout: string) => Promise<readonly string[]>;

/** Keeps each list for a moment, so that people who type at the same time cost one run of git. */
export function createFileLists(git: Git): FileLists {
  const lists = new Map<string, Promise<readonly string[]>>();

  async function read(checkout: string): Promise<readonly string[]> {
    const [listed, deleted] = await Promise.all([
      git.must(checkout, ['ls-files', '-z', '--cached', '--others', '--exclude-standard']),
      git.must(checkout, ['ls-files', '-z', '--deleted']),
    ]);
    const gone = new Set(deleted.split('\0'));
    return [...new Set(listed.split('\0'))].filter((path) => path !== '' && !gone.has(path));
  }

  return (checkout) => {
    const known = lists.get(checkout);
    if (known !== undefined) return known;
    const list = read(checkout);
    lists.set(checkout, list);
    const forget = () => lists.delete(checkout);
    list.then(() => setTimeout(forget, FRESH_MS).unref(), forget);
    return list;
  };
}
