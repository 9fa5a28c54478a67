import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { runHere } from '../../test/run-here.ts';
import { acquireSupervisorLock, serveControl } from '../supervisor/control-socket.ts';

/** A supervisor whose board counts the tokens that are logged out. */
async function setUp(refuse?: string) {
  const home = await temporaryFolder();
  const dataDir = join(home, 'data');
  const revoked: (string | undefined)[] = [];
  const board = createServer((request, response) => {
    revoked.push(request.headers.authorization);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => board.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void board.close());
  const address = board.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const lock = await acquireSupervisorLock(dataDir, port, new Date());
  onTestFinished(() => lock.release());
  const asked: string[] = [];
  const close = await serveControl(dataDir, {
    createLink: async () => 'link',
    listProblems: () => [],
    logIn: async (terminal, file) => {
      asked.push(`${terminal} ${file}`);
      if (refuse !== undefined) throw new Error(refuse);
      return { address: `http://127.0.0.1:${port}`, token: `token-${asked.length}` };
    },
  });
  onTestFinished(close);
  const platform = { env: {}, home, hostname: 'desk' };
  const callboard = (...args: string[]) => runHere([...args, '--data-dir', dataDir], platform);
  const file = join(home, '.config', 'callboard', 'credentials.json');
  return { callboard, asked, revoked, file, port, home };
}

it('logs a terminal in under its name, revokes the login before, and logs out', async () => {
  const { callboard, asked, revoked, file, port } = await setUp();
  const { exitCode, out } = await callboard('login');
  expect([exitCode, out]).toEqual([
    0,
    `Logged in to http://127.0.0.1:${port} as "Terminal on desk". The token is in ${file}; nobody else can read it.`,
  ]);
  expect(asked).toEqual([`Terminal on desk ${file}`]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await callboard('login');
  expect(await readFile(file, 'utf8')).toContain('token-2');
  expect(revoked).toEqual(['Bearer token-1']);
  expect((await callboard('logout')).out).toBe('Logged out.');
  expect(revoked.at(-1)).toBe('Bearer token-2');
  await expect(stat(file)).rejects.toThrow('ENOENT');
  expect(await callboard('logout')).toMatchObject({ exitCode: 1, err: expect.stringContaining('is not logged in') });
});

it('keeps no token if the supervisor refuses', async () => {
  const { callboard, file } = await setUp('not hidden from Claude');
  expect(await callboard('login')).toMatchObject({ exitCode: 1, err: 'callboard: not hidden from Claude' });
  await expect(stat(file)).rejects.toThrow('ENOENT');
});

it.each([['ls'], ['pending'], ['allow', 'x'], ['say', '1', 'hello'], ['start-stage', '1'], ['watch', '1']])(
  'says how to log in before `%s`',
  async (...args) => {
    const home = await temporaryFolder();
    const dataDir = join(home, 'data');
    const { exitCode, err } = await runHere([...args, '--data-dir', dataDir], { env: {}, home });
    expect(exitCode).toBe(1);
    expect(err).toBe(
      `callboard: this terminal is not logged in to the Callboard on ${dataDir}. Log in: npx callboard login --data-dir ${dataDir}`,
    );
  },
);

it('sends the token to nobody while no Callboard of ours runs', async () => {
  const { callboard, revoked, home } = await setUp();
  await callboard('login');
  const other = join(home, 'other');
  const { saveLogin } = await import('../terminal/api-client.ts');
  const address = 'http://127.0.0.1:1';
  await saveLogin({ env: {}, home }, { dataDir: other, address, token: 'secret' });
  const { exitCode, err } = await runHere(['ls', '--data-dir', other], { env: {}, home });
  expect([exitCode, err, revoked]).toEqual([1, expect.stringContaining(`no Callboard runs on ${other}`), []]);
});
