import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { canIsolate, searchPathForSandbox } from './bubblewrap.ts';

/** A `bwrap` that prints its arguments, one per line. */
async function printer(): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'bwrap'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
  return folder;
}

/** The arguments that the real one gets from the wrapper. */
async function passedOn(isRoot: boolean, given: readonly string[]): Promise<string[]> {
  const path = await searchPathForSandbox(
    `${await printer()}:/usr/bin:/bin`,
    join(await temporaryFolder(), "it's"),
    isRoot,
  );
  const { stdout } = await execa('bwrap', given, { env: { PATH: path }, extendEnv: false });
  return stdout.split('\n');
}

const COMMAND = ['--', 'sh', '-c', 'x "y" *', '--proc', '/proc', '--ro-bind', '/a', '/a'];

it('passes on arguments and the command unchanged', async () => {
  const given = [
    ...['--setenv', 'A', '$B "c" *', '--setenv', '--proc', '/proc', '--setenv', '--ro-bind', 'b', ''],
    ...['--ro-bind', '/', '/', '--bind', '/a', '/a', '--ro-bind', '/dev/null', '/a/.bashrc', '--dev', '/dev'],
    ...['--proc', '/proc', ...COMMAND],
  ];
  expect(await passedOn(false, given)).toEqual(given);
  expect(await passedOn(false, ['--version'])).toEqual(['--version']);
  expect(await passedOn(false, [])).toEqual(['']);
});

it('skips paths that are gone by now, and masks none of git’s own files', async () => {
  const given = [
    ...['--ro-bind', '/my shop/.git/hooks', '/my shop/.git/hooks'],
    ...[
      '--ro-bind',
      '/dev/null',
      '/shop/.git/config.lock',
      '--ro-bind',
      '/shop.git/config.lock',
      '/shop.git/config.lock',
    ],
    ...['--ro-bind', '/dev/null', '/shop/.git/worktrees/STAGE-1/config.lock'],
    ...['--ro-bind', '/dev/null', '/shop/.git/refs/heads/main'],
    ...['--ro-bind', '/dev/null', '/shop/.git/config.worktree', ...COMMAND],
  ];
  expect(await passedOn(false, given)).toEqual([
    ...['--ro-bind-try', '/my shop/.git/hooks', '/my shop/.git/hooks'],
    ...['--ro-bind', '/dev/null', '/shop/.git/config.worktree', ...COMMAND],
  ]);
});

it('makes the kernel’s settings read-only for root, behind the new /proc', async () => {
  const given = ['--setenv', 'A', 'B', '--proc', '/proc', '--dev', '/dev', ...COMMAND];
  expect(await passedOn(true, given)).toEqual(given.toSpliced(5, 0, '--ro-bind', '/proc/sys', '/proc/sys'));
});

it('is first on the path exactly once, and absent without bubblewrap', async () => {
  const [real, folder] = [await printer(), join(await temporaryFolder(), 'bin')];
  expect(await searchPathForSandbox(folder, folder, true)).toBe(folder);
  await expect(access(folder)).rejects.toThrow();
  const path = await searchPathForSandbox(`${real}:/usr/bin`, folder, false);
  expect(path).toBe(`${folder}:${real}:/usr/bin`);
  await searchPathForSandbox(path, folder, false);
  expect(await readFile(join(folder, 'bwrap'), 'utf8')).toContain(`exec '${real}/bwrap'`); // never the wrapper itself
});

const PATH = process.env.PATH ?? '';
const isRoot = process.geteuid?.() === 0;
const lacks = [(await canIsolate({ PATH })).possible ? [] : ['bubblewrap'], isRoot ? [] : ['root']].flat();

it.skipIf(lacks.length > 0)('keeps root from changing kernel settings (needs bubblewrap and root)', async () => {
  const settings = '/proc/sys/kernel/core_pattern';
  const run = (path: string) =>
    execa(
      'bwrap',
      // As Claude Code starts a command.
      [
        '--ro-bind',
        '/',
        '/',
        '--dev',
        '/dev',
        '--unshare-pid',
        '--unshare-user',
        '--cap-drop',
        'ALL',
        '--proc',
        '/proc',
        '--',
        'sh',
        '-c',
        `: >> ${settings}`,
      ],
      { env: { PATH: path }, extendEnv: false, reject: false },
    );
  const guarded = await run(await searchPathForSandbox(PATH, join(await temporaryFolder(), 'bin'), true));
  expect(guarded.stderr).toContain('Read-only file system');
});
