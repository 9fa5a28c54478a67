import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { eventually } from '../../../../test-support/until.ts';
import { fixture, untilGone } from '../../test/cli-process.ts';
import { reportOf, reportsOf } from '../../test/obedient.ts';
import { readFlags } from '../command-line/flags.ts';
import { parseStartOptions, startFlags } from '../command-line/start-options.ts';
import { createSupervisor, type SupervisorDeps } from './supervisor.ts';

const compliant = fixture('obedient-server.js');
const both = (entry: string) => ({ orchestrator: entry, webServer: entry });
const crashing = { orchestrator: fixture('crashing-server.ts'), webServer: compliant };
const never = new AbortController().signal;

function supervise(deps: Partial<SupervisorDeps> = {}, args: string[] = []) {
  const lines: string[] = [];
  const given = readFlags('start', ['--port', '0', '--orchestrator-port', '0', ...args], startFlags, {});
  const supervisor = createSupervisor({
    options: parseStartOptions(given, { cwd: '/', home: '/home/ann' }),
    servers: both(compliant),
    env: process.env,
    log: (line) => void lines.push(line),
    isTakeover: false,
    ...deps,
  });
  onTestFinished(() => supervisor.stop());
  return { supervisor, lines };
}

/** Kills the web server until its port is taken before the supervisor has started it again. */
async function takePortFromWebServer(port: number): Promise<Server> {
  for (;;) {
    const { web } = await reportsOf(port);
    process.kill(web.pid, 'SIGKILL');
    await untilGone(web.pid);
    const portHolder = createServer().listen(port, '127.0.0.1');
    const failure: unknown = await once(portHolder, 'listening').then(
      () => undefined,
      (error) => error,
    );
    if (failure === undefined) return portHolder;
    if (!(failure instanceof Error && 'code' in failure && failure.code === 'EADDRINUSE')) throw failure;
  }
}

it('starts both with one secret, and leaks no secret', async () => {
  const { supervisor } = supervise({ env: { ...process.env, CALLBOARD_TOKEN: 'hush' } }, ['--max-parallel', '7']);
  const { port, loginLink } = await supervisor.start(never);
  const { web, orchestrator, secret } = await reportsOf(port);
  expect(loginLink).toBe(`http://127.0.0.1:${port}/login?code=one%2Ftime`);
  expect(orchestrator.config).toMatchObject({ secret, maxParallel: 7, dataDir: '/home/ann/.callboard' });
  expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
  expect([web.token, orchestrator.token]).toEqual([null, null]);
  expect([...web.commandLine, ...orchestrator.commandLine].join(' ')).not.toContain(secret);
});

it.each([
  ['fail', 'no login could be made: The disk is full.'],
  ['hang', 'no login was made within 0.05 s'],
])('says so when the login link cannot be made: %s', async (LOGINS, text) => {
  const { supervisor } = supervise({ env: { ...process.env, LOGINS }, loginMs: LOGINS === 'hang' ? 50 : 30_000 });
  await expect(supervisor.start(never)).rejects.toThrow(text);
});

it('passes on to the terminal what a server has to say', async () => {
  const { supervisor, lines } = supervise({ env: { ...process.env, NOTICE: 'Claude is not logged in.' } });
  await supervisor.start(never);
  await eventually(() => expect(lines).toContain('Claude is not logged in.'));
});

it('restarts a killed server on the same port with the same configuration', async () => {
  const { supervisor, lines } = supervise();
  const { port } = await supervisor.start(never);
  const before = await reportsOf(port);
  process.kill(before.orchestrator.pid, 'SIGKILL');
  process.kill(before.web.pid, 'SIGKILL');
  const orchestrator = await reportOf(before.orchestrator.port, before.orchestrator);
  const web = await reportOf(port, before.web);
  expect(orchestrator.config).toEqual({ ...before.orchestrator.config, port: before.orchestrator.port });
  expect(web.config).toEqual({ ...before.web.config, port });
  await eventually(async () => expect((await reportOf(port)).orchestratorAt).toBe(before.web.orchestratorAt));
  expect(lines.toSorted()).toEqual([
    'the orchestrator has ended (signal SIGKILL); restarting it in 100 ms',
    'the web server has ended (signal SIGKILL); restarting it in 100 ms',
  ]);
});

it('waits longer before each restart of a server that keeps ending, and never gives up', async () => {
  const timing = { restart: { firstMs: 5, maxMs: 20, resetMs: 10_000 }, graceMs: 5_000, repeatMs: 0 };
  const { supervisor, lines } = supervise({ timing, servers: crashing });
  const patience = new AbortController();
  const started = supervisor.start(patience.signal);
  await eventually(() => expect(lines.length).toBeGreaterThanOrEqual(5));
  patience.abort(new Error('enough'));
  await expect(started).rejects.toThrow('enough');
  const waits = [5, 10, 20, 20, 20];
  expect(lines.slice(0, 5)).toEqual(
    waits.map((ms) => `the orchestrator has ended (exit code 3); restarting it in ${ms} ms`),
  );
});

it('logs a repeated failure once, and keeps retrying', async () => {
  const counter = join(await temporaryFolder(), 'starts');
  const timing = { restart: { firstMs: 5, maxMs: 5, resetMs: 10_000 }, graceMs: 5_000, repeatMs: 60_000 };
  const env = { ...process.env, COUNT_STARTS_IN: counter };
  const { supervisor, lines } = supervise({ timing, env, servers: crashing });
  const patience = new AbortController();
  const started = supervisor.start(patience.signal);
  await eventually(async () => expect((await stat(counter)).size).toBeGreaterThanOrEqual(4));
  patience.abort(new Error('enough'));
  await expect(started).rejects.toThrow('enough');
  expect(lines).toEqual(['the orchestrator has ended (exit code 3); restarting it in 5 ms']);
});

it("gives up with the server's message when a first start fails for good", async () => {
  const { supervisor } = supervise({ servers: { orchestrator: compliant, webServer: fixture('refusing-server.ts') } });
  await expect(supervisor.start(never)).rejects.toThrow('the web server cannot start: it is out of order');
});

it('waits for a port that the servers of a killed supervisor still hold', async () => {
  const portHolder = createServer().listen(0, '127.0.0.1');
  await once(portHolder, 'listening');
  const address = portHolder.address();
  const port = address !== null && typeof address === 'object' ? String(address.port) : '';
  const { supervisor, lines } = supervise({ isTakeover: true }, ['--port', port]);
  const started = supervisor.start(never);
  await eventually(() => expect(lines.join()).toContain('EADDRINUSE'));
  portHolder.close();
  expect((await started).port).toBe(Number(port));
});

it('says why a server that was up cannot start again, keeps trying, and gives no link meanwhile', async () => {
  const timing = { restart: { firstMs: 300, maxMs: 300, resetMs: 10_000 }, graceMs: 5_000, repeatMs: 60_000 };
  const { supervisor, lines } = supervise({ timing });
  const { port } = await supervisor.start(never);
  const portHolder = await takePortFromWebServer(port);
  const text = `the web server cannot start again: listen EADDRINUSE: address already in use 127.0.0.1:${port}. Retrying every few seconds; sessions continue in the meantime.`;
  await eventually(() => expect(supervisor.problems()).toEqual([text]));
  await expect(supervisor.createLink(never)).rejects.toThrow(text);
  await expect(supervisor.logInTerminal('Terminal on desk', 'held', never)).rejects.toThrow(text);
  portHolder.close();
  await eventually(() => expect(lines.at(-1)).toBe('the web server is up again'));
  expect(supervisor.problems()).toEqual([]);
  expect(await supervisor.createLink(never)).toContain('/login?code=');
  expect(lines.filter((line) => line === text)).toHaveLength(1);
});

it('tells the cause that kept a server from starting only until its next start ends otherwise', async () => {
  const timing = { restart: { firstMs: 5, maxMs: 5, resetMs: 10_000 }, graceMs: 5_000, repeatMs: 60_000 };
  const reported = join(await temporaryFolder(), 'told');
  const servers = { orchestrator: fixture('failing-server.ts'), webServer: compliant };
  const { supervisor, lines } = supervise({ timing, servers, env: { ...process.env, FAILS_AS: reported } });
  const { port } = await supervisor.start(never);
  const { orchestrator } = await reportsOf(port);
  await writeFile(reported, 'refuse');
  process.kill(orchestrator.pid, 'SIGKILL');
  const text = 'the orchestrator cannot start again: it is out of order. Retrying every few seconds.';
  await eventually(() => expect(supervisor.problems()).toEqual([text]));
  await writeFile(reported, 'crash'); // that is mended, something else is not
  await eventually(() => expect(supervisor.problems()).toEqual([]));
  await eventually(() => expect(lines.at(-1)).toContain('the orchestrator has ended (exit code 3)'));
});

it('stops both, with SIGKILL if they ignore SIGTERM', async () => {
  const timing = { restart: { firstMs: 5, maxMs: 20, resetMs: 10_000 }, graceMs: 50, repeatMs: 0 };
  const { supervisor, lines } = supervise({ timing, servers: both(fixture('stubborn-server.ts')) });
  const { web, orchestrator } = await reportsOf((await supervisor.start(never)).port);
  await supervisor.stop();
  await untilGone(web.pid);
  await untilGone(orchestrator.pid);
  expect(lines).toEqual([]);
});

it('kills both at once, and restarts neither', async () => {
  const { supervisor, lines } = supervise({ servers: both(fixture('stubborn-server.ts')) });
  const { web, orchestrator } = await reportsOf((await supervisor.start(never)).port);
  supervisor.kill();
  await untilGone(web.pid);
  await untilGone(orchestrator.pid);
  await supervisor.stop();
  expect(lines).toEqual([]);
});

it('does not restart a server that ends before its turn to be stopped', async () => {
  const timing = { restart: { firstMs: 5, maxMs: 20, resetMs: 10_000 }, graceMs: 1_000, repeatMs: 0 };
  const servers = { orchestrator: compliant, webServer: fixture('stubborn-server.ts') };
  const { supervisor, lines } = supervise({ timing, servers });
  const { orchestrator } = await reportsOf((await supervisor.start(never)).port);
  const stopped = supervisor.stop();
  process.kill(orchestrator.pid, 'SIGTERM');
  await stopped;
  expect(lines).toEqual([]);
});

it('stops during a start', async () => {
  const { supervisor } = supervise({ servers: { orchestrator: compliant, webServer: fixture('crashing-server.ts') } });
  const wish = new AbortController();
  const started = supervisor.start(wish.signal);
  wish.abort(new Error('changed my mind'));
  await expect(started).rejects.toThrow('changed my mind');
  await supervisor.stop();
});
