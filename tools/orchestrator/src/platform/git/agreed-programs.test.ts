import { execFile } from 'node:child_process';
import { appendFile, chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { countOf } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { type GitScene, setUpGitScene } from '../../../test/support/git-scene.ts';
import type { GitLab } from '../../../test/support/repository.ts';
import { stageId } from '../../../test/support/test-store.ts';

const never = new AbortController().signal;
const run = promisify(execFile);

async function hook(file: string, text: string): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
}

/** As husky sets a repository up: `core.hooksPath` leads to files that hand over to those of the repository. */
async function setUpHusky(lab: GitLab, path: string): Promise<void> {
  await hook(join(path, '.husky', '_', 'post-merge'), '. "$(dirname "$0")/h"');
  await writeFile(join(path, '.husky', '_', 'h'), 'sh -e "$(dirname "$(dirname "$0")")/$(basename "$0")"\n');
  await writeFile(join(path, '.husky', '_', '.gitignore'), '*\n');
  await writeFile(
    join(path, '.husky', 'post-merge'),
    `echo "ran in $PWD with \${GIT_DIR-no GIT_DIR}" >> ${lab.folder}/ran\n`,
  );
  await lab.git(path, 'add', '.husky');
  await lab.git(path, 'commit', '--quiet', '-m', 'Husky');
  await lab.git(path, 'config', 'core.hooksPath', '.husky/_');
}

async function mergeWork({ worktree, worktrees, project, commit, forget }: GitScene): Promise<void> {
  await commit(worktree.path, 'new.txt', 'new\n');
  await forget();
  await worktrees.merge(project, worktree);
}

describe('a program set up before the repository was registered', () => {
  it('runs as if the person had called git (husky hooks)', async () => {
    const scene = await setUpGitScene(setUpHusky);
    await mergeWork(scene);
    expect(await scene.ran()).toBe(`ran in ${scene.path} with no GIT_DIR\n`);
    expect(scene.told()).toEqual([]);
  });

  it('does not run after the agent has changed its file, which is reported', async () => {
    const scene = await setUpGitScene(setUpHusky);
    await appendFile(join(scene.path, '.husky', 'post-merge'), 'echo changed >> ../ran\n');
    await scene.git(scene.path, 'commit', '--quiet', '--all', '-m', 'Another hook');
    await mergeWork(scene);
    expect(await scene.ran()).toBe('');
    expect(scene.told()).toEqual(['post-merge']);
  });

  it('stays in effect if the agent sets another value', async () => {
    const scene = await setUpGitScene((lab, path) => setUpHusky(lab, path));
    const { git, path, folder } = scene;
    await hook(join(folder, 'evil', 'post-merge'), `echo evil >> ${folder}/ran`);
    await git(path, 'config', 'core.hooksPath', join(folder, 'evil'));
    await mergeWork(scene);
    expect(await scene.ran()).toBe(`ran in ${path} with no GIT_DIR\n`);
    expect(scene.told().sort()).toEqual(['core.hookspath', 'post-merge']);
  });

  it('runs while new hooks do not', async () => {
    const scene = await setUpGitScene((lab, path) =>
      hook(join(path, '.git', 'hooks', 'post-merge'), `echo mine >> ${lab.folder}/ran`),
    );
    await hook(join(scene.path, '.git', 'hooks', 'pre-merge-commit'), `echo evil >> ${scene.folder}/ran`);
    await mergeWork(scene);
    expect(await scene.ran()).toBe('mine\n');
    expect(scene.told()).toEqual(['pre-merge-commit']);
  });

  it('is identified by the contents of its file, not only by its value', async () => {
    const scene = await setUpGitScene(async (lab, path) => {
      await writeFile(join(path, '.git', 'monitor.sh'), '#!/bin/sh\nexit 1\n');
      await chmod(join(path, '.git', 'monitor.sh'), 0o755);
      await lab.git(path, 'config', 'core.fsmonitor', join(path, '.git', 'monitor.sh'));
    });
    const { worktree, worktrees, project, path, folder, ran, told } = scene;
    await worktrees.diff(project, worktree, {}, never);
    expect(told()).toEqual([]);
    await writeFile(join(path, '.git', 'monitor.sh'), `#!/bin/sh\necho evil >> ${folder}/ran\nexit 1\n`);
    await worktrees.diff(project, worktree, {}, never);
    expect(told()).toEqual(['core.fsmonitor']);
    expect(await ran()).toBe('');
  });
});

describe('a program that the user set up for all repositories', () => {
  it('keeps working even if the agent sets the same key', async () => {
    const scene = await setUpGitScene(async ({ git, folder }, path) => {
      await git(path, 'config', '--global', 'filter.upper.clean', 'tr a-z A-Z');
      await git(path, 'config', '--global', 'filter.upper.smudge', 'tr A-Z a-z');
      await hook(join(folder, 'my-hooks', 'post-merge'), `echo mine >> ${folder}/ran`);
      await git(path, 'config', '--global', 'core.hooksPath', join(folder, 'my-hooks'));
      await writeFile(join(path, '.gitattributes'), '*.up filter=upper\n');
      await git(path, 'add', '.gitattributes');
      await git(path, 'commit', '--quiet', '-m', 'Upper');
    });
    const { git, worktree, worktrees, project, path, canary, forget, ran, told } = scene;
    await git(path, 'config', 'filter.upper.clean', canary);
    await writeFile(join(worktree.path, 'a.up'), 'small\n');
    expect(countOf(await worktrees.diff(project, worktree, {}, never)).additions).toBe(1);
    await git(worktree.path, '-c', 'filter.upper.clean=tr a-z A-Z', 'add', '--all');
    await git(worktree.path, '-c', 'filter.upper.clean=tr a-z A-Z', 'commit', '--quiet', '-m', 'Work');
    await forget();
    expect((await worktrees.diff(project, worktree)).files).toMatchObject([{ path: 'a.up', additions: 1 }]);
    await worktrees.merge(project, worktree);
    expect(await git(path, 'show', 'HEAD:a.up')).toBe('SMALL');
    expect(await readFile(join(path, 'a.up'), 'utf8')).toBe('small\n');
    expect(await ran()).toBe('mine\n');
    expect(told()).toEqual(['filter.upper.clean']);
  });
});

it('refuses, in words, what would come out wrong without a filter that must run', async () => {
  const scene = await setUpGitScene();
  const { git, worktree, worktrees, project, path, canary, ran, forget } = scene;
  await git(path, 'config', 'filter.crypt.clean', canary);
  await git(path, 'config', 'filter.crypt.required', 'true');
  await writeFile(join(worktree.path, '.gitattributes'), '*.txt filter=crypt\n');
  await writeFile(join(worktree.path, 'secret.txt'), 'open\n');
  await forget();
  const refused = expect(worktrees.diff(project, worktree)).rejects;
  await refused.toMatchObject({
    code: 'worktree_failed',
    message: expect.stringContaining(`filter.crypt.clean = ${canary}`),
  });
  await expect(worktrees.diff(project, worktree)).rejects.toThrow(
    /Agree to it on the project’s page .* git config --file .* --remove-section/,
  );
  expect(await ran()).toBe('');
  await git(path, 'config', '--file', join(path, '.git', 'config'), '--remove-section', 'filter.crypt');
  expect((await worktrees.diff(project, worktree)).files).toHaveLength(2);
});

const hasLfs = await run('git-lfs', ['version']).then(
  () => true,
  () => false,
);

describe.skipIf(!hasLfs)('git-lfs', () => {
  const CONTENT = 'a large file\n'.repeat(20);

  it.each([
    ['for the user', ['lfs', 'install']],
    ['in the repository, before it was registered', ['lfs', 'install', '--local']],
  ])(
    'works where it is installed %s: no false change, pointers in the tree, contents in the checkout',
    async (_where, install) => {
      const scene = await setUpGitScene(async ({ git, commit }, path) => {
        await git(path, ...install);
        await git(path, 'lfs', 'track', '*.bin');
        await git(path, 'add', '.gitattributes');
        await commit(path, 'old.bin', CONTENT);
      });
      const { git, worktree, worktrees, project, path, told } = scene;
      expect(await readFile(join(worktree.path, 'old.bin'), 'utf8')).toBe(CONTENT);
      expect(countOf(await worktrees.diff(project, worktree, {}, never))).toEqual({
        files: 0,
        additions: 0,
        deletions: 0,
      });
      await writeFile(join(worktree.path, 'new.bin'), CONTENT);
      const before = await worktrees.diff(project, worktree);
      expect(before.files).toMatchObject([{ path: 'new.bin', additions: 3 }]); // the pointer
      await git(worktree.path, 'add', '--all');
      await git(worktree.path, 'commit', '--quiet', '-m', 'Work');
      await worktrees.merge(project, worktree);
      expect(await readFile(join(path, 'new.bin'), 'utf8')).toBe(CONTENT);
      expect(await git(path, 'show', 'HEAD:new.bin')).toContain('git-lfs.github.com/spec');
      expect(await git(path, 'status', '--porcelain')).toBe('');
      expect(told()).toEqual([]);
    },
  );

  it('is refused without writing wrong contents if the agent installed it, until somebody agrees', async () => {
    const scene = await setUpGitScene();
    const { git, worktree, worktrees, project, path, told } = scene;
    await git(worktree.path, 'lfs', 'install', '--local');
    await git(worktree.path, 'lfs', 'track', '*.bin');
    await writeFile(join(worktree.path, 'new.bin'), CONTENT);
    await expect(worktrees.diff(project, worktree)).rejects.toThrow('The filter "lfs" is off');
    expect(told()).toEqual(expect.arrayContaining(['filter.lfs.clean', 'filter.lfs.smudge', 'filter.lfs.process']));
    const { files } = await scene.agreeing().diff(project, worktree);
    expect(files).toMatchObject([{ path: '.gitattributes' }, { path: 'new.bin', additions: 3 }]);
    expect(await git(path, 'status', '--porcelain')).toBe('');
  });

  it('fetches without running programs of the agent', async () => {
    const scene = await setUpGitScene(async ({ git, commit }, path) => {
      await git(path, 'lfs', 'install');
      await git(path, 'lfs', 'track', '*.bin');
      await git(path, 'add', '.gitattributes');
      await commit(path, 'old.bin', CONTENT);
    });
    const { git, path, project, canary, forget, ran, told, worktrees } = scene;
    await rm(join(path, '.git', 'lfs', 'objects'), { recursive: true });
    await git(path, 'config', 'lfs.customtransfer.evil.path', canary);
    await git(path, 'config', 'lfs.standalonetransferagent', 'evil');
    await git(path, 'remote', 'add', 'origin', 'https://127.0.0.1:9/shop.git');
    await forget();
    await expect(worktrees.ensure(project, stageId('STAGE-2'), null)).rejects.toMatchObject({
      code: 'worktree_failed',
    });
    expect(await ran()).toBe('');
    expect(told().sort()).toEqual(['lfs.customtransfer.evil.path', 'lfs.standalonetransferagent']);
  });
});
