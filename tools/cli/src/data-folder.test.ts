import { chmod, mkdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { makeFolder } from './data-folder.ts';

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

it('creates a folder and its missing parents, for their owner alone', async () => {
  const root = await temporaryFolder();
  await Promise.all([makeFolder(join(root, 'a', 'b')), makeFolder(join(root, 'a', 'c'))]);
  for (const path of ['a', 'a/b', 'a/c']) expect(await modeOf(join(root, path))).toBe(0o700);
});

it('leaves an existing folder alone, also behind a link', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, 'real'));
  await chmod(join(root, 'real'), 0o750);
  await symlink('real', join(root, 'link'));
  await makeFolder(join(root, 'link'));
  expect(await modeOf(join(root, 'real'))).toBe(0o750);
});

it('rejects if the system creates no folder', async () => {
  await expect(makeFolder('/proc/callboard/data')).rejects.toMatchObject({ code: 'ENOENT' });
});
