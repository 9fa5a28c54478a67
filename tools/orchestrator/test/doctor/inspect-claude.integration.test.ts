import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { askLogin, inspectClaude } from '../../src/doctor/doctor.ts';
import { fakeClaude } from './fake-claude.ts';

const PATH = '/usr/local/bin:/usr/bin:/bin';

it('prefers the given program, and finds its version', async () => {
  const folder = await temporaryFolder();
  await fakeClaude(folder, '#!/bin/sh\necho "9.9.9 (Claude Code)"\n');
  const survey = await inspectClaude(REAL_CLAUDE, { PATH: `${folder}:${PATH}`, HOME: folder });
  expect(survey).toMatchObject({ path: REAL_CLAUDE, where: 'given', complaint: null });
  expect(survey.version).toMatch(/^\d+\.\d+\.\d+$/);
});

it('finds the program on PATH, ignoring what npm added to it', async () => {
  const folder = await temporaryFolder();
  const npm = join(folder, 'node_modules', '.bin');
  const own = join(folder, 'own');
  for (const [place, version] of [
    [npm, '1.0.0'],
    [own, '2.3.4'],
  ] as const) {
    await mkdir(place, { recursive: true });
    await fakeClaude(place, `#!/bin/sh\necho "${version} (Claude Code)"\n`);
  }
  const survey = await inspectClaude(null, { PATH: `${npm}:${own}:${PATH}` });
  expect(survey).toEqual({ path: join(own, 'claude'), where: 'path', version: '2.3.4', complaint: null });
});

it('falls back to the bundled program', async () => {
  const survey = await inspectClaude(null, { PATH: '/nonexistent', HOME: await temporaryFolder() });
  expect(survey).toMatchObject({ where: 'bundled', complaint: null });
});

it.each([
  ['echo "something else 1.2.3"', 'it prints "something else 1.2.3"'],
  ['echo "no such option" >&2; exit 3', 'it prints "no such option"'],
  ['exit 3', 'it exits with code 3'],
])('reports what a program without a version did: %s', async (script, complaint) => {
  const claude = await fakeClaude(await temporaryFolder(), `#!/bin/sh\n${script}\n`);
  expect(await inspectClaude(claude, { PATH })).toEqual({ path: claude, where: 'given', version: null, complaint });
});

it('rejects if there is no program', async () => {
  await expect(inspectClaude('/nonexistent/claude', { PATH })).rejects.toMatchObject({ code: 'claude_missing' });
});

it('asks the CLI for its login, and leaves no file in a home where it has never run', async () => {
  const home = await temporaryFolder();
  expect(await askLogin(REAL_CLAUDE, { PATH, HOME: home })).toEqual({ loggedIn: false, authMethod: 'none' });
  expect(await askLogin(REAL_CLAUDE, { PATH, HOME: home, ANTHROPIC_API_KEY: 'x' })).toMatchObject({ loggedIn: true });
  expect(await readdir(home)).toEqual([]);
  await writeFile(join(home, '.claude.json'), '{}');
  expect(await askLogin(REAL_CLAUDE, { PATH, HOME: home })).toMatchObject({ loggedIn: false });
});

it('returns null for a CLI that does not report its login', async () => {
  const claude = await fakeClaude(await temporaryFolder(), '#!/bin/sh\necho unknown command; exit 1\n');
  expect(await askLogin(claude, { PATH })).toBeNull();
});
