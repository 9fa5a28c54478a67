import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { createGitHub, FIELDS, ISSUE_FIELDS } from './github.ts';

const hasGh = (() => {
  try {
    execFileSync('gh', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

const address = { host: 'github.com', path: 'acme/shop' };
const { signal } = new AbortController();
const wanted = { title: '-t', body: '', draft: true, base: 'main', branch: 'b', marker: {} };

/** The gh of this machine without a login, or with one that no host accepts. */
async function realGh(env: Record<string, string> = {}) {
  const home = await temporaryFolder();
  const own = { PATH: process.env.PATH ?? '', HOME: home, XDG_CONFIG_HOME: home, GH_FORCE_TTY: '80', ...env };
  return createGitHub({ address, folder: '/', env: own });
}

it.skipIf(!hasGh)('asks gh only for fields that it has', async () => {
  const home = await temporaryFolder();
  const asked = [
    ['pr', 'view', FIELDS],
    ['pr', 'list', FIELDS],
    ['issue', 'view', ISSUE_FIELDS],
    ['issue', 'list', ISSUE_FIELDS],
  ] as const;
  for (const [group, command, fields] of asked) {
    let printed = '';
    try {
      const env = { PATH: process.env.PATH, HOME: home, GH_TOKEN: 'none', GH_PROMPT_DISABLED: '1' };
      execFileSync('gh', [group, command, '--repo', 'acme/shop', '--json'], { env, stdio: 'pipe' });
    } catch (error) {
      printed = String(Object(error).stderr);
    }
    const listed = printed.split('\n').map((line) => line.trim());
    expect([...fields].filter((field) => !listed.includes(field))).toEqual([]);
  }
});

it.skipIf(!hasGh)('says how to log in where gh is not logged in', async () => {
  const gh = await realGh();
  const login = { code: 'code_host_login', command: 'gh auth login --hostname github.com' };
  await expect(gh.requireLogin(signal)).rejects.toMatchObject(login);
  await expect(gh.ofBranch('b', signal)).rejects.toMatchObject(login);
  await expect(gh.read(1, signal)).rejects.toMatchObject(login);
  await expect(gh.issues({ q: '-x', label: 'bug' }, signal)).rejects.toMatchObject(login);
  await expect(gh.create(wanted, signal)).rejects.toMatchObject(login);
  await expect(gh.comments(1, signal)).rejects.toMatchObject(login);
});

it('says that a program is missing', async () => {
  const gh = createGitHub({ address, folder: '/', env: { PATH: '/nonexistent' } });
  await expect(gh.requireLogin(signal)).rejects.toMatchObject({
    code: 'no_code_host',
    message: expect.stringContaining('gh is not installed'),
  });
});
