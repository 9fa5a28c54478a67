import type { Git } from './git/git.ts';
import { NO_REPLACEMENTS } from './git/no-replacements.ts';

/** How many of them an error text lists. */
const NAMED = 5;

/**
 * Returns the folders that `to` has and `from` has not as a pointer to a repository of its own that is no submodule, for example one
 * that a scaffolding tool created. Nobody who gets such a commit gets their files.
 * @throws OperationalError `worktree_failed`
 */
export async function embeddedRepositories(git: Git, folder: string, from: string, to: string): Promise<string[]> {
  const list = ['diff-tree', '-r', '--raw', '-z', '--no-renames', '--ignore-submodules=none', from, to];
  const parts = (await git.must(folder, list, NO_REPLACEMENTS)).split('\0');
  const added = parts.flatMap((part, index) => (/^:(?!160000)\d+ 160000 /.test(part) ? [parts[index + 1] ?? ''] : []));
  if (added.length === 0) return [];
  const read = ['config', '-z', '--blob', `${to}:.gitmodules`, '--get-regexp', '^submodule\\..*\\.path$'];
  const declared = await git.try(folder, read, NO_REPLACEMENTS);
  const submodules = new Set(declared.stdout.split('\0').map((entry) => entry.slice(entry.indexOf('\n') + 1)));
  return added.filter((path) => !submodules.has(path));
}

/** Why these folders cannot be committed or merged, and what to do. */
export function embeddedRepositoriesText(paths: readonly string[]): string {
  const names = `${paths.slice(0, NAMED).join(', ')}${paths.length > NAMED ? ', …' : ''}`;
  const [what, its, ones] =
    paths.length === 1
      ? [`${names} is a git repository of its own`, 'its', 'it']
      : [`${names} are git repositories of their own`, 'their', 'them'];
  return `${what}: git would take only a pointer along, and none of ${its} files. Have Claude remove ${its} .git and add ${its} files (after "git rm --cached" if the pointer is committed), declare ${ones} as a submodule, or move ${ones} out of the worktree.`;
}
