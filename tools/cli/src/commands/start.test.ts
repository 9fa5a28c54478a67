import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { eventually } from '../../../../test-support/until.ts';
import { fixture, runProgram, untilGone } from '../../test/cli-process.ts';
import { reportsOf } from '../../test/obedient.ts';
import { runHere } from '../../test/run-here.ts';
import { findSupervisor } from '../supervisor/control-socket.ts';

function callboard(args: string[], env: NodeJS.ProcessEnv = {}, input?: string) {
  const own = { ...process.env, INIT_CWD: '', ...env };
  return runProgram(process.execPath, [fixture('callboard.js'), ...args], own, input);
}

const startOn = (dataDir: string, env: NodeJS.ProcessEnv = {}, args: string[] = [], input?: string) =>
  callboard(['start', '--data-dir', dataDir, '--port', '0', '--orchestrator-port', '0', ...args], env, input);

/** Runs a command line that ends before it starts anything: in this process, for a hundredth of what another one costs. */
async function endsHere(args: string[], env: Record<string, string> = {}, cwd = '/') {
  const refusing = fixture('refusing-server.ts');
  const servers = { orchestrator: refusing, webServer: refusing };
  return runHere(args, { servers, cwd, home: await temporaryFolder(), env: { PATH: process.env.PATH ?? '', ...env } });
}

/** Resolves with the port of the board when the program prints that it is ready. */
const boardPort = (program: ReturnType<typeof callboard>) =>
  eventually(() => {
    const [, port] = /^Callboard ready: http:\/\/127\.0\.0\.1:(\d+)\/login\?code=\S+$/m.exec(program.stdout()) ?? [];
    if (port === undefined) throw new Error(`not ready: ${program.stdout()}${program.stderr()}`);
    return Number(port);
  });

it('prints one line when everything is up, and records the port', async () => {
  const dataDir = await temporaryFolder();
  const program = startOn(dataDir);
  const port = await boardPort(program);
  expect(await findSupervisor(dataDir)).toMatchObject({ pid: program.pid, port });
  program.child.kill('SIGTERM');
  expect(await program.ended).toBe(0);
  expect(program.stdout().split('\n')).toHaveLength(2);
});

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('stops in order on %s and says what stays alive', async (signal) => {
  const dataDir = join(await temporaryFolder(), 'my data');
  const program = startOn(dataDir);
  const { web, orchestrator } = await reportsOf(await boardPort(program));
  program.child.kill(signal);
  expect(await program.ended).toBe(0);
  await untilGone(web.pid);
  await untilGone(orchestrator.pid);
  expect(await findSupervisor(dataDir)).toBeNull();
  expect(program.stderr()).toBe(
    'callboard: stopped. Running sessions stay alive; the next start finds them again.\n' +
      `callboard: to end them: npx callboard down --data-dir '${dataDir}'\n`,
  );
});

it('names no data directory if it is the default one', async () => {
  const program = callboard(['--port', '0', '--orchestrator-port', '0'], { HOME: await temporaryFolder() });
  await boardPort(program);
  program.child.kill('SIGINT');
  await program.ended;
  expect(program.stderr()).toMatch(/to end them: npx callboard down\n$/);
});

it('ends at once on a second Ctrl-C', async () => {
  const graceMs = 600_000;
  const program = startOn(await temporaryFolder(), { WEB_SERVER: 'stubborn-server.ts', GRACE_MS: String(graceMs) });
  const { web, orchestrator } = await reportsOf(await boardPort(program));
  const pressed = performance.now();
  program.child.kill('SIGINT');
  // Presses until it has ended: presses soon after the first count as its echoes.
  const presses = setInterval(() => program.child.kill('SIGINT'), 50);
  expect([0, 'SIGINT']).toContain(await program.ended); // a press may come after it has stopped listening
  clearInterval(presses);
  expect(performance.now() - pressed).toBeLessThan(graceMs / 5);
  await untilGone(web.pid);
  await untilGone(orchestrator.pid);
});

it('leaves no process behind when it is killed, and lets the next one take over', async () => {
  const dataDir = await temporaryFolder();
  const first = startOn(dataDir);
  const { web, orchestrator } = await reportsOf(await boardPort(first));
  first.child.kill('SIGKILL');
  expect(await first.ended).toBe('SIGKILL');
  await untilGone(web.pid);
  await untilGone(orchestrator.pid);
  const next = startOn(dataDir);
  await boardPort(next);
  next.child.kill('SIGTERM');
  expect(await next.ended).toBe(0);
});

it('refuses to run twice on one data directory, and says how to open, stop and avoid the first', async () => {
  const dataDir = await temporaryFolder();
  const first = startOn(dataDir);
  const port = await boardPort(first);
  const second = startOn(dataDir);
  expect(await second.ended).toBe(1);
  expect(second.stdout()).toBe('');
  const text = second.stderr();
  expect(text).toContain(
    `callboard: Callboard already runs on ${dataDir} (process ${first.pid}), so this one did not start.`,
  );
  expect(text).toMatch(new RegExp(`To open it: {2}http://127\\.0\\.0\\.1:${port}/login\\?code=\\S+\n`));
  expect(text).toContain(`To stop it:  kill ${first.pid} `);
  expect(text).toContain(`npx callboard start --data-dir ${dataDir}-2 --port ${port + 100} --orchestrator-port 0`);
  first.child.kill('SIGTERM');
  await first.ended;
});

it.each([
  [
    'internal: it is out of order',
    1,
    /^callboard: the web server cannot start: it is out of order\ncallboard: .*doctor.*\n$/,
  ],
  ['data_dir_in_use: Another one works on it.', 1, /^callboard: Another one works on it\.\n$/],
  [
    'port_in_use: Port 7 is in use.',
    1,
    /^callboard: Port 7 is in use\.\n {2}On other ports: {2}npx callboard start --data-dir \S+ --port \d+ --orchestrator-port \d+\n$/,
  ],
  ['not_a_repository: /x is none.', 2, /^callboard: --repo: \/x is none\.\n$/],
  ['no_commits: /x has none.', 2, /^callboard: --repo: \/x has none\.\n$/],
  ['agent_user_unsupported: Not yet.', 2, /^callboard: Not yet\.\n$/],
])(
  'exits with the message of a server that cannot start, and leaves nothing running: %s',
  async (refusal, code, text) => {
    const dataDir = await temporaryFolder();
    const program = startOn(dataDir, { WEB_SERVER: 'refusing-server.ts', REFUSAL: refusal });
    expect(await program.ended).toBe(code);
    expect(program.stdout()).toBe('');
    expect(program.stderr()).toMatch(text);
    expect(await findSupervisor(dataDir)).toBeNull();
  },
);

it('names the other Callboard that has the port, and ports for this one', async () => {
  const other = createServer((_request, response) => response.end('{"type":"urn:callboard:problem:not_logged_in"}'));
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const env = { ORCHESTRATOR: 'refusing-server.ts', REFUSAL: 'port_in_use: Port 3101 is in use.' };
  const program = startOn(await temporaryFolder(), env, ['--port', String(address.port)]);
  expect(await program.ended).toBe(1);
  const text = `another Callboard, on another data directory, has port ${address.port}, so this one did not start.`;
  expect(program.stderr()).toContain(text);
  expect(program.stderr()).toContain(`To open it:  http://127.0.0.1:${address.port}\n`);
  expect(program.stderr()).toMatch(/npx callboard start --data-dir \S+ --port \d+ --orchestrator-port 0\n$/);
  other.closeAllConnections();
  other.close();
  await once(other, 'close');
});

it('says that git is missing before the demo starts', async () => {
  const { exitCode, err } = await runHere(['demo', '--port', '0'], { env: { PATH: await temporaryFolder() } });
  expect([exitCode, err]).toEqual([1, expect.stringContaining('git was not found on your PATH.')]);
});

it('says that git is missing before anything starts', async () => {
  const dataDir = await temporaryFolder();
  const program = startOn(dataDir, { PATH: await temporaryFolder() });
  expect(await program.ended).toBe(1);
  expect(program.stderr()).toMatch(
    /^callboard: git was not found on your PATH\. .* Install it \(.*\), then run this again\.\n$/,
  );
});

it.each([
  ['a file', 'file', 'it, or a part of its path, is not a folder'],
  ['a folder in a file', 'file/data', 'it, or a part of its path, is not a folder'],
  ['a place where no folder can be made', '/proc/callboard', 'no folder can be made there'],
])('says why a data directory cannot be used: %s', async (_what, path, why) => {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'file'), '');
  const { exitCode, err } = await endsHere(['start', '--data-dir', path], {}, cwd);
  expect(exitCode).toBe(2);
  expect(err).toBe(`callboard: --data-dir: ${resolve(cwd, path)} cannot be used: ${why}.`);
});

it("resolves paths against the user's folder, not the one where npm runs scripts", async () => {
  const cwd = await temporaryFolder();
  await mkdir(join(cwd, 'repo'));
  const program = startOn('data', { INIT_CWD: cwd }, ['--repo', 'repo']);
  const { orchestrator } = await reportsOf(await boardPort(program));
  expect(orchestrator.config).toMatchObject({ dataDir: join(cwd, 'data'), repos: [join(cwd, 'repo')] });
  program.child.kill('SIGTERM');
  await program.ended;
});

it('says without a terminal how the repository it is started in becomes a project, unless it is its own clone or another is named', async () => {
  const program = startOn(await temporaryFolder(), { REPOSITORY: '/code/till' });
  await boardPort(program);
  program.child.kill('SIGTERM');
  await program.ended;
  const line = 'callboard: /code/till is not a project yet; add it on the board, or start with --repo .\n';
  expect(program.stderr().startsWith(line)).toBe(true);
  const named = ['--repo', await temporaryFolder()];
  for (const [path, args] of [[resolve(fixture('../../../..'))], ['/code/till', named]] as const) {
    const silent = startOn(await temporaryFolder(), { REPOSITORY: path }, args);
    await boardPort(silent);
    silent.child.kill('SIGTERM');
    await silent.ended;
    expect(silent.stderr()).not.toContain('project');
  }
});

it('warns about a token that others can read, and passes on only its hash', async () => {
  const program = startOn(await temporaryFolder(), { CALLBOARD_TOKEN: 'hush' });
  const { web, orchestrator } = await reportsOf(await boardPort(program));
  expect(program.stderr()).toContain('can read CALLBOARD_TOKEN');
  expect(orchestrator.config.tokenSha256).toMatch(/^[0-9a-f]{64}$/);
  expect([web.token, orchestrator.token]).toEqual([null, null]);
  program.child.kill('SIGTERM');
  await program.ended;
});

const DATABASE = 'postgres://ann:hush@db.example/board';
const stop = async (program: ReturnType<typeof callboard>) => {
  program.child.kill('SIGTERM');
  expect(await program.ended).toBe(0);
  expect(program.stdout() + program.stderr()).not.toContain('hush');
};

it('passes the URL of a shared store to the orchestrator alone, by its pipe', async () => {
  const names = { CALLBOARD_MACHINE_NAME: 'desk', CALLBOARD_MACHINE_URL: 'wss://desk.example' };
  const ends = { CALLBOARD_END_SESSIONS_AFTER_MINUTES: '5' };
  const env = { CALLBOARD_DATABASE_URL: DATABASE, ...names, ...ends };
  const program = startOn(await temporaryFolder(), env, ['--trust-shared-store']);
  const { web, orchestrator } = await reportsOf(await boardPort(program));
  expect(orchestrator.config).toMatchObject({
    databaseUrl: DATABASE,
    machineName: 'desk',
    machineUrl: 'wss://desk.example',
    endSessionsAfterMinutes: 5,
  });
  expect(JSON.stringify(web)).not.toContain('hush');
  expect(program.stderr()).toContain('crosses the network to db.example:5432/board unencrypted');
  expect([web.token, orchestrator.token]).toEqual([null, null]);
  await stop(program);
});

it('reads that URL from a file that only its owner can read, and from standard input before it', async () => {
  const dataDir = await temporaryFolder();
  const file = join(dataDir, 'database-url');
  await writeFile(file, `${DATABASE}\n`, { mode: 0o640 });
  const refused = startOn(dataDir, {}, ['--trust-shared-store']);
  expect(await refused.ended).toBe(2);
  expect(refused.stderr()).toBe(
    `callboard: ${file}: other accounts may read it (its mode is 640), and with it they can do everything. ` +
      `Run: chmod 600 ${file}. Change the password if somebody may have read it.\n`,
  );

  await chmod(file, 0o600);
  const program = startOn(dataDir, {}, ['--trust-shared-store']);
  const { orchestrator } = await reportsOf(await boardPort(program));
  expect(orchestrator.config).toMatchObject({ databaseUrl: DATABASE, machineName: null, machineUrl: null });
  await stop(program);

  const options = ['--trust-shared-store', '--database-url-stdin'];
  const piped = startOn(dataDir, {}, options, 'postgresql://other.example/board?sslmode=verify-full\n');
  const next = await reportsOf(await boardPort(piped));
  expect(next.orchestrator.config).toMatchObject({
    databaseUrl: 'postgresql://other.example/board?sslmode=verify-full',
  });
  expect(piped.stderr()).not.toContain('warning');
  await stop(piped);
});

it.each([
  ['is empty', ' \n'],
  ['does not begin with postgres://', 'ann:hush'],
  ['names no database', 'postgres://ann:hush@db.example'],
])('says what is wrong with a URL of a shared store, without repeating it: %s', async (message, text) => {
  const dataDir = await temporaryFolder();
  const file = join(dataDir, 'database-url');
  await writeFile(file, text, { mode: 0o600 });
  const { exitCode, out, err } = await endsHere(['start', '--data-dir', dataDir]);
  expect(exitCode).toBe(2);
  expect(err).toContain(`callboard: ${file}: ${message}`);
  expect(out + err).not.toContain('hush');
});

it('refuses what belongs to a shared store when there is none', async () => {
  const args = ['start', '--data-dir', await temporaryFolder()];
  const { exitCode, err } = await endsHere(args, { CALLBOARD_MACHINE_NAME: 'desk' });
  expect(exitCode).toBe(2);
  expect(err).toMatch(/^callboard: CALLBOARD_MACHINE_NAME: is for a shared store, .* Set CALLBOARD_DATABASE_URL/);
});

it.each([
  [['start', DATABASE]],
  [[DATABASE]],
  [['start', `--database-url=${DATABASE}`]],
  [['backup', '--data-dir', DATABASE]],
])('refuses a URL of a database on its command line, without repeating it', async (args) => {
  const { exitCode, out, err } = await endsHere(args);
  expect(exitCode).toBe(2);
  expect(err).toMatch(/^callboard: the command line holds the URL of a database, .* change that/);
  expect(out + err).not.toContain('hush');
});

it.each([
  [
    ['bogus'],
    'there is no command "bogus". The commands are: start, link, down, doctor, backup, restore, migrate-store, demo, login, ls, start-stage, pending, allow, deny, answer, say, watch, advance, complete, rules, import, logout, completion, help.',
  ],
  [['--bogus'], '`callboard start` has no option --bogus.'],
  [['down', '--port', '1'], '`callboard down` has no option --port. Its options are: --data-dir.'],
  [['--port', 'x'], '--port: "x" is not a port'],
  [['--data-dir', '/dev/null'], '--data-dir: /dev/null cannot be used: '],
])('exits with 2 on %j', async (args, message) => {
  const { exitCode, out, err } = await endsHere(args);
  expect([exitCode, out]).toEqual([2, '']);
  expect(err).toContain(`callboard: ${message}`);
});

it('says on stderr what is wrong, and exits with that code', async () => {
  const program = callboard(['--port', 'x']);
  expect(await program.ended).toBe(2);
  expect(program.stdout()).toBe('');
  expect(program.stderr()).toMatch(/^callboard: --port: "x" is not a port .*\n$/);
});
