import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

/** A repository, and a git that fails while `broken` exists. */
async function setUp() {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  await lab.commit(path, 'callboard.yaml', 'base: main\n');
  const broken = join(lab.folder, 'broken');
  const bin = join(lab.folder, 'git');
  await writeFile(bin, `#!/bin/sh\ntest -e ${broken} && exit 128\nPATH=\${PATH#*:} exec git "$@"\n`);
  await chmod(bin, 0o755);
  const env = { ...lab.env, PATH: `${lab.folder}:${lab.env.PATH}` };
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env });
  const project = sampleProject({ path });
  const read = (revision: string, file = 'callboard.yaml') => worktrees.fileAt(project, revision, file);
  return { ...lab, path, broken, read, head: await lab.git(path, 'rev-parse', 'HEAD') };
}

it('reads a file of a commit once, also that there is none', async () => {
  const { path, read, head } = await setUp();
  expect(await Promise.all([read(head), read(head), read(head, 'none.yaml')])).toEqual([
    'base: main',
    'base: main',
    null,
  ]);
  await rename(join(path, '.git'), join(path, 'away'));
  expect([await read(head), await read(head, 'none.yaml')]).toEqual(['base: main', null]);
  expect(await read('main')).toBeNull();
});

it('reads a branch each time, and a part of an id', async () => {
  const { path, commit, read, head } = await setUp();
  expect(await read('HEAD')).toBe('base: main');
  await commit(path, 'callboard.yaml', 'base: next\n');
  expect([await read('HEAD'), await read('main'), await read(head)]).toEqual([
    'base: next',
    'base: next',
    'base: main',
  ]);
  expect(await read(head.slice(0, 12))).toBe('base: main');
  await rename(join(path, '.git'), join(path, 'away'));
  expect(await read(head.slice(0, 12))).toBeNull();
});

it('does not take a failure of git for a commit without the file', async () => {
  const { broken, read, head } = await setUp();
  await writeFile(broken, '');
  expect(await read(head)).toBeNull();
  await rm(broken);
  expect(await read(head)).toBe('base: main');
});
