import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { readFlags } from './flags.ts';
import { parseStartOptions, startFlags } from './start-options.ts';

const parse = (args: string[], env = {}, base = { cwd: '/here', home: '/home/ann' }) =>
  parseStartOptions(readFlags('start', args, startFlags, env), base);

it('has a default for everything', () => {
  expect(parse([])).toEqual({
    startedIn: '/here',
    startCommand: 'npx callboard start',
    port: 3100,
    host: '127.0.0.1',
    exposure: { publicUrl: null, proxies: [], tls: null },
    trustLogins: false,
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
    sharedStore: {
      url: null,
      isPiped: false,
      isTrusted: false,
      machineName: null,
      machineUrl: null,
      endSessionsAfterMinutes: null,
    },
  });
});

it('can be started again on the command line, without its port and how it is reached', () => {
  const given = (args: string, env = {}) => parse(args.split(' '), env).startCommand;
  expect(given('--port 3200 --data-dir work --host ::1 --public-url http://localhost:8100')).toBe(
    'npx callboard start --data-dir /here/work',
  );
  expect(given('--max-parallel 9 --no-open --orchestrator-port 0', { CALLBOARD_MAX_PARALLEL: '7' })).toBe(
    'npx callboard start --max-parallel 9 --no-open --orchestrator-port 0',
  );
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
    sharedStore: {
      url: null,
      isPiped: false,
      isTrusted: false,
      machineName: null,
      machineUrl: null,
      endSessionsAfterMinutes: null,
    },
  });
});

it.each([
  [
    '--public-url http://localhost:8100/team/board/',
    {},
    { publicUrl: 'http://localhost:8100/team/board', proxies: [], tls: null },
  ],
  ['--host ::1 --public-url http://localhost:8100', {}, { publicUrl: 'http://localhost:8100', proxies: [], tls: null }],
  [
    '--host 0.0.0.0 --behind-proxy 127.0.0.1,10.0.0.0/8 --public-url HTTPS://Callboard.Example.com/',
    {},
    { publicUrl: 'https://callboard.example.com', proxies: ['127.0.0.1', '10.0.0.0/8'], tls: null },
  ],
  [
    '--host box.lan',
    { CALLBOARD_TLS_CERT: 'a.pem', CALLBOARD_TLS_KEY: '/b.key' },
    { tls: { cert: '/here/a.pem', key: '/b.key' } },
  ],
  [
    '',
    { CALLBOARD_BEHIND_PROXY: '::1 fd00::/8', CALLBOARD_PUBLIC_URL: 'https://callboard.example.com:8443' },
    { publicUrl: 'https://callboard.example.com:8443', proxies: ['::1', 'fd00::/8'] },
  ],
])('reads how people reach the board: %s %j', (args, env, exposure) => {
  expect(
    parse(
      args.split(' ').filter((arg) => arg !== ''),
      env,
    ).exposure,
  ).toMatchObject(exposure);
});

const TLS = '--tls-cert a.pem --tls-key a.key';
it.each([
  [
    '--host 0.0.0.0',
    '--host: "0.0.0.0" can be reached from other machines, and logins would cross the network unencrypted. Give',
  ],
  ['--host example.org', '--host: "example.org" can be reached'],
  ['--host 192.0.2.1 --public-url http://localhost:1', '--host: "192.0.2.1" can be reached'],
  [`--host 0.0.0.0 ${TLS}`, '--host: "0.0.0.0" needs --public-url'],
  [`--host :: ${TLS}`, '--host: "::" needs --public-url'],
  ['--host -x', '--host: needs a value'],
  ['--host a/b', '--host: "a/b" is not an address'],
  ['--tls-cert a.pem', '--tls-cert: needs --tls-key'],
  ['--tls-key a.key', '--tls-key: needs --tls-cert'],
  ['--behind-proxy 127.0.0.1', '--behind-proxy: needs --public-url'],
  ['--behind-proxy localhost --public-url https://a.example', '--behind-proxy: "localhost" is not a list of addresses'],
  ['--behind-proxy 10.0.0.0/33 --public-url https://a.example', '--behind-proxy: "10.0.0.0/33" is not'],
  ['--public-url https://a.example', '--public-url: is HTTPS: name the proxy'],
  ['--public-url http://a.example --behind-proxy 127.0.0.1', '--public-url: must begin with https://'],
  ['--public-url http://a.example', '--public-url: must begin with https://'],
  [`--public-url http://localhost:1 ${TLS}`, '--public-url: must begin with https://'],
  ['--public-url a.example', '--public-url: "a.example" is not the address of a site'],
  ['--public-url https://a.example/a"b', 'is not the address of a site'],
  ['--public-url https://a.example/a;b', 'is not the address of a site'],
  ['--public-url https://ann:pw@a.example', 'is not the address of a site'],
  ['--public-url https://a.example?x', 'is not the address of a site'],
])('refuses what would let nobody in, or everybody: %s', (args, message) => {
  expect(() => parse(args.split(' '))).toThrow(message);
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
  [['--repo', 'nowhere'], {}, '--repo: "/here/nowhere" is not a readable folder'],
  [['--claude', '/'], {}, '--claude: "/" is not an executable program'],
  [['--max-parallel', '0'], {}, '--max-parallel: "0" is not a whole number above 0'],
  [['--agent-user', 'a b'], {}, '--agent-user: "a b" is not a user name'],
  [['--data-dir', '~bob/x'], {}, '--data-dir: "~bob/x" names the home of another user'],
  [[], { CALLBOARD_TOKEN_SHA256: 'secret?' }, 'CALLBOARD_TOKEN_SHA256: is not a SHA-256'],
  [[], { CALLBOARD_TOKEN: 'x', CALLBOARD_TOKEN_SHA256: 'ab'.repeat(32) }, 'CALLBOARD_TOKEN_SHA256 is set too'],
  [[], { CALLBOARD_DATABASE_URL: 'mysql://u:hush@h/d' }, 'CALLBOARD_DATABASE_URL: does not begin with postgres://'],
  [[], { CALLBOARD_MACHINE_NAME: 'a\nb' }, 'CALLBOARD_MACHINE_NAME: is not a name'],
  [[], { CALLBOARD_MACHINE_NAME: 'x'.repeat(65) }, 'CALLBOARD_MACHINE_NAME: is not a name'],
  [[], { CALLBOARD_MACHINE_URL: 'https://m.example' }, 'CALLBOARD_MACHINE_URL: "https://m.example" is not an address'],
  [[], { CALLBOARD_MACHINE_URL: 'ws://m.example:3101' }, 'CALLBOARD_MACHINE_URL: "ws://m.example:3101" is not an'],
])('names flag and reason for %j %j', (args, env, message) => {
  expect(() => parse(args, env)).toThrow(message);
});

it('reads the URL of a shared store and what this machine is called, from variables alone', () => {
  const env = {
    CALLBOARD_DATABASE_URL: 'postgres://ann:hush@db.example/board',
    CALLBOARD_MACHINE_NAME: 'Büro 2',
    CALLBOARD_MACHINE_URL: 'wss://m.example:3101',
    CALLBOARD_END_SESSIONS_AFTER_MINUTES: '5',
  };
  expect(parse(['--database-url-stdin', '--trust-shared-store'], env).sharedStore).toEqual({
    url: env.CALLBOARD_DATABASE_URL,
    isPiped: true,
    isTrusted: true,
    machineName: 'Büro 2',
    machineUrl: 'wss://m.example:3101',
    endSessionsAfterMinutes: 5,
  });
  expect(() => parse(['--database-url', 'x'])).toThrow('has no option --database-url.');
});

it('names every invalid value at once', () => {
  expect(() => parse(['--port', 'x', '--max-parallel', 'y'])).toThrow(/--port: .*\ncallboard: --max-parallel: /);
});
