import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { markedBy } from '../../test/support/attack/scene.ts';
import { canIsolate, type IsolationOptions, isolated } from './bubblewrap.ts';

const env = { PATH: process.env.PATH ?? '/usr/bin:/bin' };
const trial = await canIsolate(env);
const why = trial.possible ? '' : ` (needs bubblewrap: ${trial.detail})`;

let place: IsolationOptions;
let beside: string;
beforeEach(async () => {
  const base = await temporaryFolder();
  const dataDir = join(base, 'data');
  const folder = join(dataDir, 'worktrees/shop/STAGE-1');
  beside = join(base, 'beside');
  for (const path of [folder, beside, join(dataDir, 'worktrees/shop/STAGE-2')]) await mkdir(path, { recursive: true });
  await writeFile(join(dataDir, 'store.sqlite'), 'SQLite');
  await writeFile(join(beside, 'notes'), 'read me');
  place = { folder, dataDir, readable: [], writable: [], hidden: [], network: 'none' };
});

async function run(script: string, more: Partial<IsolationOptions> = {}, user: Record<string, string> = env) {
  const { command, args, ...options } = await isolated(['sh', '-c', script], { ...place, ...more }, { user });
  return execa(command, args, { ...options, extendEnv: false, reject: false, stdin: 'ignore' });
}

describe.skipIf(!trial.possible)(`an isolated command${why}`, () => {
  it('runs in the worktree, may write there, and sees nothing else of the data directory', async () => {
    const { stdout, exitCode } = await run(
      `pwd; echo one > one; ls -A ${place.dataDir} ${place.dataDir}/worktrees/shop; exit 3`,
    );
    expect(stdout.split('\n')).toEqual([
      place.folder,
      `${place.dataDir}:`,
      'worktrees',
      '',
      `${place.dataDir}/worktrees/shop:`,
      'STAGE-1',
    ]);
    expect(exitCode).toBe(3);
    expect(await readFile(join(place.folder, 'one'), 'utf8')).toBe('one\n');
  });

  it('cannot change the files that decide what git and Claude Code run in the worktree', async () => {
    await mkdir(join(place.folder, '.claude'));
    for (const name of ['.git', '.mcp.json', '.claude/settings.json'])
      await writeFile(join(place.folder, name), 'as it is');
    const { stderr } = await run(
      'for f in .git .mcp.json .claude/settings.json .claude/new; do echo x > $f; done; mv .claude other',
    );
    expect(stderr.match(/Read-only file system/g)).toHaveLength(4);
    expect((await readdir(place.folder)).toSorted()).toEqual(['.claude', '.git', '.mcp.json']);
  });

  it('has its own temporary files, and sees only the shown ones of others', async () => {
    const check = `cat ${beside}/notes; echo x > ${beside}/new; echo x > /tmp/mine && ls /tmp`;
    expect((await run(check)).stderr).toContain('No such file');
    const shown = await run(check, { readable: [beside] });
    expect(shown.stdout).toContain('read me');
    expect(shown.stderr).toContain('Read-only');
    expect((await run(check, { writable: [beside] })).stderr).toBe('');
    expect(await readdir(beside)).toEqual(['new', 'notes']);
    const hidden = await run(check, { writable: [beside], hidden: [join(beside, 'notes'), join(beside, 'none')] });
    expect(hidden.stdout).not.toContain('read me');
    expect((await readdir('/tmp')).includes('mine')).toBe(false);
  });

  it('does not see the data directory through a writable parent', async () => {
    const { stdout } = await run(`ls -A ${place.dataDir}`, { writable: [join(place.dataDir, '..')] });
    expect(stdout).toBe('worktrees');
  });

  it('reaches no port of the machine without a network, and never a socket', async () => {
    const listen = async (where: number | string) => {
      const server = createServer((socket) => socket.end('hello')).listen(where);
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      return server.address();
    };
    const address = await listen(0);
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const socket = join(beside, 'agent.sock');
    await listen(socket);
    const touch = `'${process.execPath}' -e "
      const { connect } = require('node:net');
      for (const where of [{ port: ${port}, host: '127.0.0.1' }, { path: '${socket}' }])
        connect(where).on('data', () => console.log('reached', Object.keys(where)[0])).on('error', () => {});
    "`;
    const readable = [beside, dirname(process.execPath)];
    expect((await run(touch, { readable })).stdout).toBe('');
    expect((await run(touch, { readable, network: 'host' })).stdout).toBe('reached port');
  });

  it('gets no more of the environment than it needs', async () => {
    const user = {
      ...env,
      HOME: '/root',
      LC_ALL: 'C',
      SSH_AUTH_SOCK: '/run/agent',
      ANTHROPIC_API_KEY: 'key',
      NPM_TOKEN: 't',
    };
    const { stdout } = await run('env', {}, user);
    const names = stdout.split('\n').map((line) => line.slice(0, line.indexOf('=')));
    expect(names.toSorted()).toEqual(['HOME', 'LC_ALL', 'PATH', 'PWD', 'TMPDIR']);
  });

  it('sees no process but its own, and leaves none running', async () => {
    const marker = `isolated-${process.pid}`;
    const { stdout } = await run(
      `(setsid sh -c 'while :; do sleep 1; done' ${marker} >/dev/null 2>&1 &) ; ls -d /proc/[0-9]* | wc -l`,
    );
    expect(Number(stdout)).toBeLessThan(8);
    await until('it has ended', async () => (await markedBy(marker)).length === 0);
  });

  it('ends when its parent dies', async () => {
    const marker = `orphan-${process.pid}`;
    const {
      command,
      args,
      cwd,
      env: own,
    } = await isolated(['sh', '-c', 'echo > running; while :; do sleep 1; done', marker], place, { user: env });
    const script = `require('node:child_process').spawn(${JSON.stringify(command)}, ${JSON.stringify(args)}, ${JSON.stringify({ cwd, env: own })})`;
    const parent = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
    await until('it runs', async () => (await readdir(place.folder)).includes('running'));
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await until('it has ended', async () => (await markedBy(marker)).length === 0);
  });
});

it('rejects when the worktree does not exist', async () => {
  const missing = isolated(['true'], { ...place, folder: join(beside, 'none') }, { user: env });
  await expect(missing).rejects.toMatchObject({ kind: 'operational', code: 'isolation_place' });
});

it('reports why commands cannot be isolated', async () => {
  const nowhere = await temporaryFolder();
  expect(await canIsolate({ PATH: nowhere })).toMatchObject({ possible: false, reason: 'missing' });
  const script = '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n';
  await writeFile(join(nowhere, 'bwrap'), script, { mode: 0o755 });
  expect(await canIsolate({ PATH: `${nowhere}:/usr/bin:/bin` })).toEqual({
    possible: false,
    reason: 'forbidden',
    detail: 'bwrap: setting up uid map: Permission denied',
  });
});
