import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { readFlags } from './command-line/flags.ts';
import { parseStartOptions, startFlags } from './start-options.ts';

const parse = (args: string[], env = {}, base = { cwd: '/here', home: '/home/ann' }) =>
  parseStartOptions(readFlags('start', args, startFlags, env), base);

it('has a default for everything', () => {
  expect(parse([])).toEqual({
    port: 3100,
    host: '127.0.0.1',
    orchestratorPort: 3101,
    dataDir: '/home/ann/.callboard',
    repos: [],
    claudePath: null,
    open: null,
    maxParallel: 4,
    diskReserveMb: 200,
    attentionAfterMinutes: 10,
    agentUser: null,
    tokenSha256: null,
    isTokenExposed: false,
  });
});

it('reads flags', async () => {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, 'one'));
  const args =
    '--port 0 --orchestrator-port 0 --host ::1 --data-dir data --repo one --repo . --no-open --max-parallel 9 --disk-reserve-mb 0 --attention-after-minutes 45';
  const options = parse(
    [...args.split(' '), '--claude', process.execPath, '--agent-user', 'bot'],
    {},
    { cwd, home: '/' },
  );
  expect(options).toMatchObject({
    port: 0,
    orchestratorPort: 0,
    host: '::1',
    dataDir: join(cwd, 'data'),
    repos: [join(cwd, 'one'), cwd],
    open: false,
    maxParallel: 9,
    diskReserveMb: 0,
    attentionAfterMinutes: 45,
    claudePath: process.execPath,
    agentUser: 'bot',
  });
});

it('reads variables', () => {
  const env = {
    CALLBOARD_PORT: '1',
    CALLBOARD_HOST: 'localhost',
    CALLBOARD_ORCHESTRATOR_PORT: '2',
    CALLBOARD_DATA_DIR: '~/data',
    CALLBOARD_CLAUDE_PATH: process.execPath,
    CALLBOARD_MAX_PARALLEL: '3',
    CALLBOARD_DISK_RESERVE_MB: '500',
    CALLBOARD_ATTENTION_AFTER_MINUTES: '5',
    CALLBOARD_AGENT_USER: 'bot',
    CALLBOARD_TOKEN_SHA256: 'AB'.repeat(32),
  };
  expect(parse([], env)).toMatchObject({
    port: 1,
    host: 'localhost',
    orchestratorPort: 2,
    dataDir: '/home/ann/data',
    claudePath: process.execPath,
    maxParallel: 3,
    diskReserveMb: 500,
    attentionAfterMinutes: 5,
    agentUser: 'bot',
    tokenSha256: 'ab'.repeat(32),
    isTokenExposed: false,
  });
});

it('hashes a token, and reports that it was exposed', () => {
  const tokenSha256 = createHash('sha256').update('hush').digest('hex');
  expect(parse([], { CALLBOARD_TOKEN: 'hush' })).toMatchObject({ tokenSha256, isTokenExposed: true });
});

it.each([
  [['--port', 'x'], {}, '--port: "x" is not a port'],
  [['--port', '65536'], {}, '--port: "65536" is not a port'],
  [[], { CALLBOARD_PORT: '3.5' }, 'CALLBOARD_PORT: "3.5" is not a port'],
  [['--orchestrator-port=-1'], {}, '--orchestrator-port: "-1" is not a port'],
  [['--port', '3101'], {}, '--orchestrator-port: is the port of the board'],
  [['--host', '0.0.0.0'], {}, '--host: "0.0.0.0" can be reached from other machines, and Callboard does not speak TLS'],
  [['--host', 'example.org'], {}, '--host: "example.org" can be reached'],
  [['--repo', 'nowhere'], {}, '--repo: "/here/nowhere" is not a readable folder'],
  [['--claude', '/'], {}, '--claude: "/" is not an executable program'],
  [['--max-parallel', '0'], {}, '--max-parallel: "0" is not a whole number above 0'],
  [['--agent-user', 'a b'], {}, '--agent-user: "a b" is not a user name'],
  [['--data-dir', '~bob/x'], {}, '--data-dir: "~bob/x" names the home of another user'],
  [[], { CALLBOARD_TOKEN_SHA256: 'secret?' }, 'CALLBOARD_TOKEN_SHA256: is not a SHA-256'],
  [[], { CALLBOARD_TOKEN: 'x', CALLBOARD_TOKEN_SHA256: 'ab'.repeat(32) }, 'CALLBOARD_TOKEN_SHA256 is set too'],
  [
    [],
    { CALLBOARD_DATABASE_URL: 'postgres://u:pw@h/d' },
    'CALLBOARD_DATABASE_URL: a shared store is not supported yet',
  ],
])('names flag and reason for %j %j', (args, env, message) => {
  expect(() => parse(args, env)).toThrow(message);
});

it('names every invalid value at once', () => {
  expect(() => parse(['--port', 'x', '--max-parallel', 'y'])).toThrow(/--port: .*\ncallboard: --max-parallel: /);
});
