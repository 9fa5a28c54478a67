import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { probeFileSystem } from './inspect.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

it('finds no problem on a capable file system, and leaves nothing behind', async () => {
  const folder = await temporaryFolder();
  expect(await probeFileSystem(folder)).toEqual({ fifo: null, holes: null });
  expect(await readdir(folder)).toEqual([]);
});

it('returns the error messages of the system', async () => {
  const folder = await temporaryFolder();
  const bin = join(folder, 'bin');
  await mkdir(bin);
  for (const name of ['mkfifo', 'fallocate']) {
    await writeFile(join(bin, name), `#!/bin/sh\necho "${name}: Operation not supported" >&2\nexit 1\n`);
    await chmod(join(bin, name), 0o755);
  }
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
  const probe = { fifo: 'mkfifo: Operation not supported', holes: 'fallocate: Operation not supported' };
  expect(await probeFileSystem(folder)).toEqual(probe);
  vi.stubEnv('PATH', '/nonexistent');
  expect(await probeFileSystem(folder)).toEqual({ fifo: 'there is no mkfifo', holes: 'there is no fallocate' });
  expect(await readdir(folder)).toEqual(['bin']);
});

it('rejects where no folder can be created', async () => {
  await expect(probeFileSystem('/proc')).rejects.toMatchObject({ code: 'ENOENT' });
});
