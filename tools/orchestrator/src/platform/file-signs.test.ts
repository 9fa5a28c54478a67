import { mkdtemp, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { signOf } from './files.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'callboard-signs-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

it('stays the same while nobody writes, and changes when a file is created, written, replaced or removed', async () => {
  const file = join(await folder(), 'settings.json');
  const signs = [signOf([file])];
  const check = () => signs.push(signOf([file]));
  await writeFile(file, 'one');
  check();
  const { atime, mtime, mtimeMs } = await stat(file);
  // A write shows in the change time: two writes of one size within one tick of the clock look alike.
  await expect.poll(() => writeFile(file, 'two').then(() => stat(file))).not.toMatchObject({ mtimeMs });
  await utimes(file, atime, mtime); // setting the times back hides nothing
  check();
  await writeFile(`${file}.new`, 'six');
  await rename(`${file}.new`, file);
  check();
  await rm(file);
  await symlink('elsewhere.json', file);
  await writeFile(join(file, '..', 'elsewhere.json'), 'seven');
  check();
  await rm(file);
  await symlink(file, file);
  check();
  expect(new Set(signs).size).toBe(signs.length);
  expect(signOf([file])).toBe(signs.at(-1));
});
