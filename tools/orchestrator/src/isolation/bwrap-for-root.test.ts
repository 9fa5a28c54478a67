import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { searchPathForSandbox } from './bwrap-for-root.ts';
import { canIsolate } from './isolate.ts';

/** A `bwrap` that prints its arguments, one a line. */
async function printer(): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'bwrap'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
  return folder;
}

it('adds its one line to the arguments, and leaves the rest and the command as they are', async () => {
  const [real, folder] = [await printer(), join(await temporaryFolder(), "it's")];
  const path = await searchPathForSandbox(`${real}:/usr/bin:/bin`, folder, true);
  expect(path).toBe(`${folder}:${real}:/usr/bin:/bin`);
  expect(await searchPathForSandbox(path, folder, true)).toBe(`${folder}:${path}`); // never itself
  const given = [
    '--setenv',
    'A',
    '$B "c" *',
    '',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--',
    'sh',
    '-c',
    'x',
    '--proc',
    '/proc',
  ];
  const { stdout } = await execa('bwrap', given, { env: { PATH: path }, extendEnv: false });
  const added = given.toSpliced(6, 0, '--ro-bind', '/proc/sys', '/proc/sys');
  expect(stdout.split('\n')).toEqual(added);
  expect((await execa('bwrap', ['--version'], { env: { PATH: path }, extendEnv: false })).stdout).toBe('--version');
  expect((await execa('bwrap', [], { env: { PATH: path }, extendEnv: false })).stdout).toBe('');
});

it('leaves the path alone for everybody else, and where there is no bubblewrap', async () => {
  const folder = join(await temporaryFolder(), 'bin');
  const path = `${await printer()}:/usr/bin`;
  expect(await searchPathForSandbox(path, folder, false)).toBe(path);
  expect(await searchPathForSandbox(folder, folder, true)).toBe(folder);
  await expect(access(folder)).rejects.toThrow();
});

const PATH = process.env.PATH ?? '';
const isRoot = process.geteuid?.() === 0;
const lacks = [(await canIsolate({ PATH })).possible ? [] : ['bubblewrap'], isRoot ? [] : ['root']].flat();

it.skipIf(lacks.length > 0)('keeps root from the settings of the kernel (needs bubblewrap and root)', async () => {
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
