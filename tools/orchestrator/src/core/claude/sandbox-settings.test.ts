import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { mainBranchFiles } from './launch-options.ts';

it('returns the existing files that hold the state of the main branch', async () => {
  const { repository, git, folder } = await createGitLab();
  const repo = await repository('shop');
  await git(repo, 'checkout', '--quiet', '-b', 'feature/one');
  const of = (...names: string[]) => names.map((name) => `${repo}/.git/${name}`);
  expect(await mainBranchFiles(repo)).toEqual(of('HEAD', 'index', 'refs/heads/feature/one'));
  await git(repo, 'pack-refs', '--all');
  expect(await mainBranchFiles(repo)).toEqual(of('HEAD', 'index'));
  await git(repo, 'checkout', '--quiet', '--detach');
  expect(await mainBranchFiles(repo)).toEqual(of('HEAD', 'index'));
  expect(await mainBranchFiles(folder)).toEqual([]);
});
