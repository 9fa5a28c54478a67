import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { putProgram, SYSTEM_PATH } from '../../test/programs.ts';
import { checkAgentUser, checkGit, checkMemory, checkNode, checkSandbox, ok, runCheck } from './machine-checks.ts';

it.each([
  ['26.1.0', 'ok'],
  ['24.0.0', 'ok'],
  ['20.20.2', 'problem'],
])('takes Node %s for %s', (version, verdict) => {
  const check = checkNode(version, '/usr/bin/node');
  expect(check).toMatchObject({ verdict, found: expect.stringContaining(`${version} (/usr/bin/node)`) });
  expect(check.advice === null).toBe(verdict === 'ok');
});

describe('git', () => {
  it('is reported with its version', async () => {
    const check = await checkGit({ PATH: SYSTEM_PATH });
    expect(check).toMatchObject({ verdict: 'ok', advice: null });
    expect(check.found).toMatch(/^\d+\.\d+/);
  });

  it('is reported as missing', async () => {
    const check = await checkGit({ PATH: '/nonexistent' });
    expect(check).toMatchObject({ verdict: 'problem', found: 'not found' });
    expect(check.advice).toContain('Install git');
  });

  it.each([
    ['git version 2.30.1', 'ok', '2.30.1'],
    ['git version 2.39.5 (Apple Git-154)', 'ok', '2.39.5'],
    ['git version 3.0.0', 'ok', '3.0.0'],
    ['git version 2.29.9', 'warning', '2.29.9; Callboard is tested with'],
    ['git version 2.4.12', 'problem', '2.4.12 has no worktrees'],
    ['something', 'warning', 'unknown version'],
  ])('that says "%s" is %s', async (says, verdict, found) => {
    const folder = await temporaryFolder();
    await putProgram(folder, 'git', `echo "${says}"`);
    const check = await checkGit({ PATH: `${folder}:${SYSTEM_PATH}` });
    expect(check).toMatchObject({ verdict, found: expect.stringContaining(found) });
  });
});

it.each([
  [10_000_000_000, 'ok', '10.0 GB free, enough for about 47 sessions at once'],
  [630_000_000, 'ok', '630 MB free, enough for about 3 sessions at once'],
  [629_000_000, 'warning', '629 MB free, enough for about 2 sessions at once'],
  [250_000_000, 'warning', '250 MB free, enough for about 1 session at once'],
  [0, 'warning', '0 MB free, enough for about 0 sessions at once'],
])('says how many sessions fit into %i bytes', (bytes, verdict, found) => {
  expect(checkMemory(bytes)).toMatchObject({ verdict, found });
});

it('reports whether a command runs in the sandbox, and what to do if not', () => {
  expect(checkSandbox({ state: 'works', why: null, how: null })).toMatchObject({ verdict: 'ok', advice: null });
  const fails = { state: 'fails', why: 'socat is not installed.', how: 'Run `sudo apt install socat`.' } as const;
  expect(checkSandbox(fails)).toEqual({
    verdict: 'warning',
    found: 'does not work. socat is not installed.',
    advice: 'Run `sudo apt install socat`.',
  });
  expect(checkSandbox({ ...fails, how: null }).advice).toContain('noticed');
});

it('refuses another account, which is not supported yet', () => {
  expect(checkAgentUser(null)).toMatchObject({ verdict: 'ok' });
  expect(checkAgentUser('claude')).toMatchObject({
    verdict: 'problem',
    found: 'running claude as claude is not supported yet',
  });
});

it('turns an unexpected failure of a check into a problem', async () => {
  expect(await runCheck('a', 'A', () => ok('fine'))).toEqual({ id: 'a', name: 'A', ...ok('fine') });
  const broken = await runCheck('b', 'B', () => Promise.reject(new Error('first line\nsecond')));
  expect(broken).toMatchObject({ id: 'b', verdict: 'problem', found: 'could not be checked: first line' });
});
