import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

async function setUp(attributes?: string) {
  const lab = await createGitLab();
  const path = await lab.repository('shop');
  if (attributes !== undefined) await lab.commit(path, '.gitattributes', attributes);
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const project = sampleProject({ path });
  const worktree = await worktrees.ensure(project, stageId('STAGE-1'), null);
  const file = (name: string) => join(worktree.path, name);
  const diff = (query = {}) => worktrees.diff(project, worktree, query);
  const commit = (name: string, content: string) => lab.commit(worktree.path, name, content);
  return { ...lab, worktrees, worktree, file, diff, commit };
}

const pathsOf = ({ files }: { files: readonly { path: string }[] }) => files.map(({ path }) => path);

it('lists the commits of the branch, and shows what one of them changed', async () => {
  const { file, diff, commit, git, worktree } = await setUp();
  await commit('a.txt', 'a\n');
  await commit('b.txt', 'b\n');
  await writeFile(file('c.txt'), 'c\n');
  const all = await diff();
  expect(pathsOf(all)).toEqual(['a.txt', 'b.txt', 'c.txt']);
  expect(all.commits).toMatchObject([{ subject: 'Write b.txt', author: 'Test' }, { subject: 'Write a.txt' }]);
  const of = async (n: number) => diff({ range: all.commits[n]?.id });
  expect(pathsOf(await of(0))).toEqual(['b.txt']);
  const { base, tree } = await of(1);
  expect((await diff({ base, tree, path: 'a.txt' })).files[0]?.patch).toBe('@@ -0,0 +1 @@\n+a\n');
  const root = await git(worktree.path, 'rev-list', '--max-parents=0', 'HEAD');
  expect(pathsOf(await diff({ range: root }))).toEqual(['README.md']);
  await expect(diff({ range: 'f'.repeat(40) })).rejects.toMatchObject({ code: 'head_moved' });
});

it('shows what has changed since an earlier moment, and a change with the whole file around it', async () => {
  const { file, diff } = await setUp();
  await writeFile(file('a.txt'), 'a\n');
  const { tree } = await diff();
  await writeFile(file('b.txt'), 'b\n');
  await writeFile(file('long.txt'), Array.from({ length: 40 }, (_, n) => `${n}\n`).join(''));
  expect(pathsOf(await diff({ base: tree }))).toEqual(['b.txt', 'long.txt']);
  const { tree: later } = await diff();
  await writeFile(file('long.txt'), Array.from({ length: 40 }, (_, n) => `${n === 20 ? 'x' : n}\n`).join(''));
  const lines = async (context: string) =>
    (await diff({ base: later, path: 'long.txt', context })).files[0]?.patch?.split('\n').length;
  expect(await lines('hunks')).toBe(1 + 8 + 1);
  expect(await lines('whole')).toBe(1 + 41 + 1);
});

it('tells generated files by their names and the attributes of the base, not by those of the branch', async () => {
  const { file, diff } = await setUp('/made/** linguist-generated\nlate.txt linguist-generated=false\n');
  await mkdir(file('made'));
  for (const name of ['made/client.ts', 'package-lock.json', 'app.min.js', 'hidden.ts', 'late.txt'])
    await writeFile(file(name), 'x\n');
  await writeFile(file('.gitattributes'), '* linguist-generated\n');
  const { files } = await diff();
  expect(files.filter(({ isGenerated }) => isGenerated).map(({ path }) => path)).toEqual([
    'app.min.js',
    'made/client.ts',
    'package-lock.json',
  ]);
});

it('returns the sizes of binary files, and the pixels of what is an image by its first bytes', async () => {
  const { file, diff, commit, worktrees, worktree } = await setUp();
  await writeFile(file('logo.png'), PIXEL);
  await writeFile(file('fake.png'), '<svg onload="alert(1)"/>');
  await writeFile(file('data.bin'), Buffer.from([0, 1, 2, 0, 255]));
  const { base, tree } = await diff();
  const content = (path: string) => worktrees.withContents(worktree, (of) => of.beforeAndAfter(base, tree, path));
  expect(await content('logo.png')).toEqual({
    before: null,
    after: { bytes: PIXEL.length, mediaType: 'image/png', dataBase64: PIXEL.toString('base64') },
  });
  // Its name says nothing of what it is.
  expect((await content('fake.png')).after?.mediaType).toBe('image/svg+xml');
  expect((await content('data.bin')).after).toEqual({ bytes: 5, mediaType: null, dataBase64: null });
  expect(await content('none')).toEqual({ before: null, after: null });
  await commit('other.txt', '');
});

it('tells a drawing by its first element, and leaves out what could keep a browser busy', async () => {
  const { file, diff, worktrees, worktree } = await setUp();
  const drawings = {
    'plain.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'full.svg': '\ufeff<?xml version="1.0"?>\n<!-- a > b -->\n<!DOCTYPE svg>\n<svg:svg\n>',
  };
  const others = {
    'entities.svg': '<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg>&b;</svg>',
    'page.svg': '<html><svg/></html>',
    'name.svg': '<svgs/>',
    'words.svg': 'see <svg>',
    'comment.svg': '<!-- <svg>',
    'large.svg': `<svg>${' '.repeat(1024 * 1024)}</svg>`,
  };
  for (const [name, text] of Object.entries({ ...drawings, ...others })) await writeFile(file(name), text);
  const { base, tree } = await diff();
  const typeOf = async (path: string) =>
    (await worktrees.withContents(worktree, (of) => of.beforeAndAfter(base, tree, path))).after?.mediaType;
  for (const name of Object.keys(drawings)) expect([name, await typeOf(name)]).toEqual([name, 'image/svg+xml']);
  for (const name of Object.keys(others)) expect([name, await typeOf(name)]).toEqual([name, null]);
});
