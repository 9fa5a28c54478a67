import { chmod, mkdir, rm, stat, symlink } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { stageTemporaryFolder } from './claude-process.ts';

it('is private to its owner, different for each stage and data directory, and stable', async () => {
  const base = await temporaryFolder();
  const of = (dataDir: string, stageId: string) => stageTemporaryFolder(base, dataDir, stageId);
  const first = (await of('/data', 'STAGE-1')) ?? '';
  expect((await stat(first)).mode & 0o777).toBe(0o700);
  expect(await of('/data', 'STAGE-1')).toBe(first);
  expect(new Set([first, await of('/data', 'STAGE-2'), await of('/other', 'STAGE-1')]).size).toBe(3);
});

it('is not used when something else has its name, since anybody may create files there', async () => {
  const base = await temporaryFolder();
  const of = () => stageTemporaryFolder(base, '/data', 'STAGE-1');
  const folder = (await of()) ?? '';
  await chmod(folder, 0o755);
  expect(await of()).toBeNull();
  await rm(folder, { recursive: true });
  await mkdir(`${base}/elsewhere`, { mode: 0o700 });
  await symlink(`${base}/elsewhere`, folder);
  expect(await of()).toBeNull();
});
