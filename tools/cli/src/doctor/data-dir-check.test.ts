import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { checkDataDir, checkSpace, judgeFifo, judgeHoles } from './machine-checks.ts';

const ALL = ['data-dir', 'disk-space', 'fifo', 'holes'];

it('accepts a good data directory, and leaves nothing in it', async () => {
  const dataDir = join(await temporaryFolder(), 'my data');
  await mkdir(dataDir, { mode: 0o700 });
  const checks = await checkDataDir(dataDir);
  expect(checks.map(({ id }) => id)).toEqual(ALL);
  expect(checks.map(({ verdict }) => verdict)).toEqual(ALL.map(() => 'ok'));
  expect(checks[0]?.found).toBe(`${dataDir}, for its owner alone`);
  expect(await readdir(dataDir)).toEqual([]);
});

it('creates none, and checks the folder where it would be', async () => {
  const folder = await temporaryFolder();
  const checks = await checkDataDir(join(folder, 'a', 'b'));
  expect(checks.map(({ verdict }) => verdict)).toEqual(ALL.map(() => 'ok'));
  expect(checks[0]?.found).toBe(`${join(folder, 'a', 'b')} does not exist yet; the first start makes it`);
  expect(await readdir(folder)).toEqual([]);
});

it('warns about a data directory that others can read', async () => {
  const dataDir = join(await temporaryFolder(), 'my data');
  await mkdir(dataDir);
  await chmod(dataDir, 0o755);
  const [own] = await checkDataDir(dataDir);
  const found = `${dataDir} is open to others (0755)`;
  expect(own).toMatchObject({ verdict: 'warning', found, advice: `chmod 700 '${dataDir}'` });
});

it('reports a path that is not a folder', async () => {
  const file = join(await temporaryFolder(), 'file');
  await writeFile(file, '');
  for (const path of [file, join(file, 'data')]) {
    const checks = await checkDataDir(path);
    expect(checks).toHaveLength(1);
    expect(checks[0]).toMatchObject({ id: 'data-dir', verdict: 'problem' });
  }
});

it('reports a file system where no folder can be created', async () => {
  const [own, ...others] = await checkDataDir('/proc/callboard');
  expect(own).toMatchObject({
    verdict: 'problem',
    found: '/proc/callboard cannot be made: no folder can be made there',
  });
  expect(others).toEqual([]);
});

it.each([
  [5_000_000_000, 'ok', '5.0 GB free'],
  [500_000_000, 'warning', '0.5 GB free; while the disk is full, what Claude prints is lost'],
])('judges %i bytes of free space', async (bytes, verdict, found) => {
  expect(await checkSpace('/', bytes)).toMatchObject({ verdict, found });
});

it('asks the system for the free space', async () => {
  expect((await checkSpace(await temporaryFolder())).found).toMatch(/^\d+\.\d GB free/);
});

it('needs named pipes, but not hole punching', () => {
  expect(judgeFifo(null)).toMatchObject({ verdict: 'ok' });
  expect(judgeFifo('mkfifo: Operation not permitted')).toMatchObject({
    verdict: 'problem',
    found: 'do not work here (mkfifo: Operation not permitted); sessions cannot be started',
  });
  expect(judgeHoles(null)).toMatchObject({ verdict: 'ok' });
  expect(judgeHoles('there is no fallocate')).toMatchObject({ verdict: 'warning' });
});
