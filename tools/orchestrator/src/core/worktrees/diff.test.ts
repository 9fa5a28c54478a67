import { spawnSync } from 'node:child_process';
import { chmod, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileDiff } from '@callboard/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGitLab } from '../../../test/support/repository.ts';
import { sampleProject, stageId } from '../../../test/support/test-store.ts';
import { createWorktrees } from './worktrees.ts';

const hasLfs = spawnSync('git', ['lfs', 'version']).status === 0;

const EIGHT_LINES = '1\n2\n3\n4\n5\n6\n7\n8\n';

async function setUp(initial: string[] = []) {
  const lab = await createGitLab();
  const path = join(lab.folder, 'shop');
  await mkdir(path);
  await lab.git(path, 'init', '--quiet', '--initial-branch=main', ...initial);
  await lab.commit(path, 'README.md', '# Shop\n');
  await lab.commit(path, 'old.txt', EIGHT_LINES);
  const worktrees = createWorktrees({ dataDir: join(lab.folder, 'data'), env: lab.env });
  const project = sampleProject({ path });
  const worktree = await worktrees.ensure(project, stageId('STAGE-1'), null);
  const file = (name: string) => join(worktree.path, name);
  const list = async () => (await worktrees.diff(project, worktree)).files;
  const one = async (name: string): Promise<FileDiff | undefined> =>
    (await worktrees.diff(project, worktree, { path: name })).files[0];
  const patch = async (name: string) => (await one(name))?.patch;
  const inTree = (...args: string[]) => lab.git(worktree.path, ...args);
  const commitAll = async () => {
    await inTree('add', '--all');
    await inTree('commit', '--quiet', '--no-gpg-sign', '-m', 'Work');
  };
  return { ...lab, path, project, worktree, worktrees, file, list, one, patch, inTree, commitAll };
}

const lineOf = ({ path, oldPath, status, additions, deletions }: FileDiff) =>
  `${status} ${oldPath === null ? '' : `${oldPath} -> `}${path} +${additions} -${deletions}`;

const EVIL = '@@ -0,0 +1 @@\n+evil\n';

describe('a change cannot be hidden', () => {
  it('by a bare carriage return before text that looks like a diff header', async () => {
    const { file, patch } = await setUp();
    await writeFile(file('b.txt'), 'x\rdiff --git a/c.txt b/c.txt\nindex\n--- a\n+++ b\n@@ -1 +1 @@\n');
    await writeFile(file('c.txt'), 'evil\n');
    expect(await patch('c.txt')).toBe(EVIL);
    expect(await patch('b.txt')).toContain('+x\rdiff --git a/c.txt b/c.txt\n+index\n');
  });

  it('by a symbolic link in place of a file', async () => {
    const { file, patch, one } = await setUp();
    await rm(file('old.txt'));
    await symlink('/etc/passwd', file('old.txt'));
    await writeFile(file('z.txt'), 'evil\n');
    expect(await patch('z.txt')).toBe(EVIL);
    expect(await one('old.txt')).toMatchObject({ status: 'modified', oldMode: '100644', newMode: '120000' });
    expect(await patch('old.txt')).toContain('-8\n+/etc/passwd\n\\ No newline at end of file\n');
  });

  it('by a renamed file whose name looks like the counts of another', async () => {
    const { file, list, patch } = await setUp();
    await rename(file('old.txt'), file('9\t9\tz'));
    await writeFile(file('c.txt'), 'evil\n');
    expect((await list()).map(lineOf)).toEqual(['renamed old.txt -> 9\t9\tz +0 -0', 'added c.txt +1 -0']);
    expect(await patch('9\t9\tz')).toBe('');
  });

  it.each([
    ['-diff', ''],
    ['binary', ''],
    ['diff=driver', 'textconv'],
    ['diff=driver', 'command'],
    ['diff=driver', 'binary'],
  ])('not the attribute %s (%s), wherever it is set', async (attribute, key) => {
    const { file, list, patch, inTree, path } = await setUp();
    if (key !== '') await inTree('config', `diff.driver.${key}`, key === 'binary' ? 'true' : 'echo harmless #');
    await writeFile(file('.gitattributes'), `* ${attribute}\n`);
    await writeFile(join(path, '.git', 'info', 'attributes'), `* ${attribute}\n`);
    await writeFile(file('c.txt'), 'evil\n');
    await writeFile(file('old.txt'), EIGHT_LINES.replace('4', 'evil'));
    expect(await patch('c.txt')).toBe(EVIL);
    expect(await patch('old.txt')).toContain('\n-4\n+evil\n');
    expect((await list()).map((one) => `${lineOf(one)} ${one.isBinary}`)).toEqual([
      'added .gitattributes +1 -0 false',
      'added c.txt +1 -0 false',
      'modified old.txt +1 -1 false',
    ]);
  });

  it.each(['--assume-unchanged', '--skip-worktree'])('by the flag %s', async (flag) => {
    const { file, patch, inTree, list } = await setUp();
    await inTree('update-index', flag, 'old.txt');
    await writeFile(file('old.txt'), 'evil\n');
    expect(await patch('old.txt')).toContain('+evil\n');
    expect(await list()).toHaveLength(1);
  });

  it('by a replaced object', async () => {
    const { file, patch, inTree, commitAll } = await setUp();
    await writeFile(file('c.txt'), 'evil\n');
    await writeFile(file('good.txt'), 'good\n');
    await inTree('replace', await inTree('hash-object', '-w', 'c.txt'), await inTree('hash-object', '-w', 'good.txt'));
    await commitAll();
    expect(await patch('c.txt')).toBe(EVIL);
  });

  it('by one NUL in a text; real binary content is not shown', async () => {
    const { file, patch, one } = await setUp();
    await writeFile(file('c.js'), `// \0 ${'innocent '.repeat(20)}\nevil()\n`);
    await writeFile(file('d.png'), Buffer.from(Array.from({ length: 3000 }, (_, n) => (n * 7) % 256)));
    expect(await one('c.js')).toMatchObject({ isBinary: true, additions: 0 });
    expect(await patch('c.js')).toContain('\n+evil()\n');
    expect(await one('d.png')).toMatchObject({ isBinary: true, patch: null });
  });

  it('by a merge of the main branch that undoes its changes', async () => {
    const { path, commit, inTree, list, worktree } = await setUp();
    await commit(path, 'fix.txt', 'a fix\n');
    await commit(worktree.path, 'own.txt', 'own\n');
    await inTree('merge', '--quiet', '--strategy=ours', '-m', 'Merge', 'main');
    expect((await list()).map(lineOf)).toEqual(['deleted fix.txt +0 -1', 'added own.txt +1 -0']);
  });
});

describe('a file is shown', () => {
  it('with its mode, in a rename with changes, if empty, without a final newline, and with bare carriage returns', async () => {
    const { file, one, patch } = await setUp();
    await chmod(file('README.md'), 0o755);
    await rename(file('old.txt'), file('new.txt'));
    await writeFile(file('new.txt'), EIGHT_LINES.replace('8', 'eight'));
    await writeFile(file('empty.txt'), '');
    await writeFile(file('end.txt'), 'no end');
    await writeFile(file('mac.txt'), 'a\rb\rc');
    expect(await one('README.md')).toMatchObject({ oldMode: '100644', newMode: '100755', patch: '' });
    expect(await one('new.txt')).toMatchObject({ status: 'renamed', oldPath: 'old.txt', additions: 1, deletions: 1 });
    expect(await patch('new.txt')).toContain('\n-8\n+eight\n');
    expect(await one('empty.txt')).toMatchObject({ status: 'added', additions: 0, patch: '' });
    expect(await patch('end.txt')).toBe('@@ -0,0 +1 @@\n+no end\n\\ No newline at end of file\n');
    expect(await patch('mac.txt')).toBe('@@ -0,0 +1 @@\n+a\rb\rc\n\\ No newline at end of file\n');
  });

  it('whatever bytes its name has', async () => {
    const { file, list, one, worktree } = await setUp();
    const names = ['line\nbreak', '"quoted"', 'tab\t', 'bell\u0007', 'nëu', 'end ', ':(glob)*', 'a => b', '-x'];
    for (const name of names) await writeFile(file(name), 'evil\n');
    const raw = Buffer.concat([Buffer.from(`${worktree.path}/caf`), Buffer.from([0xe9])]);
    await writeFile(raw, 'evil\n');
    const shown = names.map((name) => (name === '"quoted"' ? '"\\"quoted\\""' : name));
    expect((await list()).map(({ path }) => path).sort()).toEqual([...shown, '"caf\\351"'].sort());
    for (const name of [...shown, '"caf\\351"']) expect((await one(name))?.patch, name).toBe(EVIL);
  });

  it('byte for byte where it is not UTF-8', async () => {
    const { file, patch } = await setUp();
    await writeFile(file('latin.txt'), Buffer.from([0x63, 0xe9, 0xe8, 0x0a]));
    await writeFile(file('half.txt'), Buffer.from([0xc3, 0xa9, 0xc3, 0x0a]));
    expect(await patch('latin.txt')).toBe('@@ -0,0 +1 @@\n+c\udce9\udce8\n');
    expect(await patch('half.txt')).toBe('@@ -0,0 +1 @@\n+é\udcc3\n');
  });

  it('as its commit if it is a nested repository; one without a commit is listed as unread', async () => {
    const { file, one, git, commit, worktrees, project, worktree } = await setUp();
    for (const name of ['inner', 'unborn']) {
      await mkdir(file(name));
      await git(file(name), 'init', '--quiet');
    }
    await commit(file('inner'), 'a.txt', 'a\n');
    await writeFile(join(file('unborn'), 'x.txt'), 'x\n');
    await writeFile(file('z.txt'), 'evil\n');
    const head = await git(file('inner'), 'rev-parse', 'HEAD');
    expect(await one('inner')).toMatchObject({
      newMode: '160000',
      patch: `@@ -0,0 +1 @@\n+Subproject commit ${head}\n`,
    });
    expect((await one('z.txt'))?.patch).toBe(EVIL);
    expect((await worktrees.diff(project, worktree)).unread).toEqual(['unborn/']);
  });

  it('in parts if its patch is long, with very long lines cut; and by its size if it is large and binary', async () => {
    const { file, one, project, worktree, worktrees } = await setUp();
    await writeFile(file('long.txt'), Array.from({ length: 70_000 }, (_, n) => `line ${n}\n`).join(''));
    await writeFile(file('one-line.json'), `${'é'.repeat(2_500_000)}\nshort\n`);
    await writeFile(file('huge.bin'), '');
    await truncate(file('huge.bin'), 3_000_000);
    const { base, tree } = await worktrees.diff(project, worktree);
    const parts: string[] = [];
    for (let from = 0; from !== -1; ) {
      const [part] = (await worktrees.diff(project, worktree, { path: 'long.txt', base, tree, from })).files;
      parts.push(part?.patch ?? '');
      from = part?.next ?? -1;
    }
    expect(parts.length).toBeGreaterThan(2);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(410_000);
    const whole = `@@ -0,0 +1,70000 @@\n${Array.from({ length: 70_000 }, (_, n) => `+line ${n}\n`).join('')}`;
    expect(parts.join('') === whole).toBe(true);

    const line = await one('one-line.json');
    expect(line).toMatchObject({ additions: 2, next: null, cut: [{ line: 1, bytes: 5_000_001 }] });
    expect(line?.patch).toMatch(/^@@ -0,0 \+1,2 @@\n\+é{1900,2000}\n\+short\n$/);
    expect(await one('huge.bin')).toMatchObject({ isBinary: true, patch: null });
  });

  it('page by page, from the same moment', async () => {
    const { file, project, worktree, worktrees } = await setUp();
    for (let n = 0; n < 5; n += 1) await writeFile(file(`new-${n}.txt`), 'a\n');
    const { base, tree, files } = await worktrees.diff(project, worktree);
    await writeFile(file('new-5.txt'), 'a\n');
    const page = (from: number) => worktrees.diff(project, worktree, { base, tree, from, limit: 3 });
    expect(await page(0)).toMatchObject({ files: files.slice(0, 3), total: files.length });
    expect(await page(3)).toMatchObject({ files: files.slice(3), total: files.length });
  });

  it('in a repository with ids of SHA-256', async () => {
    const { file, patch } = await setUp(['--object-format=sha256']);
    await writeFile(file('c.txt'), 'evil\n');
    expect(await patch('c.txt')).toBe(EVIL);
  });
});

it('counts in one call what the patches of the files have', async () => {
  const { file, project, worktree, worktrees } = await setUp();
  const line = fc.stringMatching(/^[\r\t a-c@+\-\\]{0,6}$/);
  const content = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n'));
  await writeFile(file('.gitattributes'), '* -diff\n');
  const contents = fc.sample(content, { numRuns: 30, seed: 1 });
  for (const [index, text] of contents.entries()) await writeFile(file(`file-${index}`), text);
  await writeFile(file('old.txt'), contents.join('\n'));
  const { base, tree, files } = await worktrees.diff(project, worktree);
  expect(files.length).toBeGreaterThan(20);
  for (const { path, additions, deletions, isBinary } of files) {
    const [one] = (await worktrees.diff(project, worktree, { path, base, tree })).files;
    const lines = one?.patch?.split('\n').filter((text) => !text.startsWith('@@ ')) ?? [];
    const count = (sign: string) => lines.filter((text) => text.startsWith(sign)).length;
    expect({ path, additions, deletions, isBinary }).toEqual({
      path,
      additions: count('+'),
      deletions: count('-'),
      isBinary: false,
    });
  }
});

describe('the state that is shown', () => {
  it('is identified by commit and tree, and can be requested again after the files have changed', async () => {
    const { file, inTree, worktrees, project, worktree, commitAll } = await setUp();
    await writeFile(file('c.txt'), 'evil\n');
    const first = await worktrees.diff(project, worktree);
    expect(first).toMatchObject({ head: await inTree('rev-parse', 'HEAD'), base: worktree.base });
    await writeFile(file('c.txt'), 'harmless\n');
    const second = await worktrees.diff(project, worktree);
    expect(second.tree).not.toBe(first.tree);
    const { base, tree } = first;
    const then = await worktrees.diff(project, worktree, { path: 'c.txt', base, tree });
    expect(then).toMatchObject({ tree, files: [{ patch: EVIL }] });
    await commitAll();
    const third = await worktrees.diff(project, worktree);
    expect(third).toMatchObject({ head: await inTree('rev-parse', 'HEAD'), tree: second.tree });
    expect(await inTree('rev-parse', 'HEAD^{tree}')).toBe(third.tree);
  });

  it('is refused with a reason if it no longer exists', async () => {
    const { worktrees, project, worktree } = await setUp();
    const query = { path: 'c.txt', base: worktree.base, tree: '1'.repeat(40) };
    await expect(worktrees.diff(project, worktree, query)).rejects.toMatchObject({ code: 'head_moved' });
  });
});

describe('files are added as git would add them', () => {
  it('with the line endings of the repository', async () => {
    const { file, list, commitAll, inTree } = await setUp();
    await inTree('config', 'core.autocrlf', 'true');
    await inTree('config', 'core.safecrlf', 'true');
    await writeFile(file('old.txt'), EIGHT_LINES.replaceAll('\n', '\r\n'));
    expect(await list()).toEqual([]);
    await writeFile(file('.gitattributes'), '*.bat text eol=crlf\n');
    await writeFile(file('a.bat'), 'a\r\nb\r\n');
    await inTree('config', 'core.safecrlf', 'false');
    await commitAll();
    expect((await list()).map(lineOf)).toEqual(['added .gitattributes +1 -0', 'added a.bat +2 -0']);
  });

  it.skipIf(!hasLfs)('with the pointers of Git LFS (needs git-lfs)', async () => {
    const { file, list, patch, inTree, commitAll } = await setUp();
    await inTree('lfs', 'install', '--skip-repo'); // for the user: what is the user's needs no agreement
    await inTree('lfs', 'track', '*.bin');
    await writeFile(file('big.bin'), 'a'.repeat(5000));
    expect((await list()).map(lineOf)).toEqual(['added .gitattributes +1 -0', 'added big.bin +3 -0']);
    expect(await patch('big.bin')).toMatch(
      /^@@ -0,0 \+1,3 @@\n\+version https:\/\/git-lfs.*\n\+oid sha256:.*\n\+size 5000\n$/,
    );
    await commitAll();
    await rm(file('big.bin'));
    await inTree('checkout', '--', 'big.bin');
    expect(await inTree('status', '--porcelain')).toBe('');
    expect((await list()).map(lineOf)).toEqual(['added .gitattributes +1 -0', 'added big.bin +3 -0']);
  });
});
