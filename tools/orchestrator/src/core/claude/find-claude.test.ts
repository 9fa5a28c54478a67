import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { findClaude } from './claude-program.ts';

async function program(folder: string, mode = 0o755): Promise<string> {
  const path = join(folder, 'claude');
  await mkdir(folder, { recursive: true });
  await writeFile(path, '#!/bin/sh\n');
  await chmod(path, mode);
  return path;
}

it('prefers the configured program', async () => {
  const folder = await temporaryFolder();
  const configured = await program(join(folder, 'own'));
  await program(join(folder, 'bin'));
  expect(await findClaude(configured, join(folder, 'bin'))).toBe(configured);
});

it('rejects when the configured program does not exist, without searching further', async () => {
  const folder = await temporaryFolder();
  await program(folder);
  const missing = join(folder, 'nowhere', 'claude');
  const error = { code: 'claude_missing', message: expect.stringContaining(missing) };
  await expect(findClaude(missing, folder)).rejects.toMatchObject(error);
  await expect(findClaude(folder, folder)).rejects.toMatchObject({ code: 'claude_missing' });
});

it("prefers the first program on the user's PATH to the bundled one", async () => {
  const folder = await temporaryFolder();
  const first = await program(join(folder, 'a'));
  await program(join(folder, 'b'));
  const path = ['/nowhere', join(folder, 'a'), join(folder, 'b')].join(delimiter);
  expect(await findClaude(null, path)).toBe(first);
});

it('skips files that are not executable, and relative PATH entries', async () => {
  const folder = await temporaryFolder();
  await program(join(folder, 'plain'), 0o644);
  await mkdir(join(folder, 'folder', 'claude'), { recursive: true });
  const good = await program(join(folder, 'good'));
  const path = ['', '.', 'node_modules/.bin', join(folder, 'plain'), join(folder, 'folder'), join(folder, 'good')];
  expect(await findClaude(null, path.join(delimiter))).toBe(good);
});

it('falls back to the bundled program', async () => {
  const bundled = /node_modules\/\.bin\/claude$/;
  expect(await findClaude(null, undefined)).toMatch(bundled);
  expect(await findClaude(null, '/nowhere')).toMatch(bundled);
});
