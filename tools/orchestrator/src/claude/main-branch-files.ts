import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The files of the main checkout's git that say which branch it is on, where that branch is, and what is staged. A commit in a
 * worktree writes none of them (tried). A branch that git has packed has no file of its own, and is not covered.
 */
export async function mainBranchFiles(checkout: string): Promise<string[]> {
  const git = join(checkout, '.git');
  const head = await readFile(join(git, 'HEAD'), 'utf8').catch(() => '');
  const [, branch] = /^ref: (refs\/heads\/\S+)$/m.exec(head) ?? [];
  const files = ['HEAD', 'index', ...(branch === undefined ? [] : [branch])].map((name) => join(git, name));
  const isThere = (file: string) =>
    access(file).then(
      () => true,
      () => false,
    );
  const found = await Promise.all(files.map(isThere));
  return files.filter((_, index) => found[index]);
}
