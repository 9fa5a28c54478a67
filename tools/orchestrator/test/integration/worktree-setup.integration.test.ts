import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StageId, WorktreeCommand } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { commitAll, git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { until } from '../../../../test-support/until.ts';
import { findCommandProcesses } from '../../src/platform/process-table.ts';
import { createKit, type Kit } from '../support/kit.ts';

const run = promisify(execFile);
const HELLO = prompt({ steps: [{ text: 'Hello.' }] });

const settings = (kit: Kit, values: Record<string, unknown>) =>
  kit.client.command('update_project', { projectId: 'shop', settings: values });
const stageOf = async (kit: Kit, stageId: string) => (await kit.client.command('get_stage', { stageId })).stage;
const runsOf = async (kit: Kit, stageId: string): Promise<WorktreeCommand[]> =>
  (await kit.client.command('get_stage_commands', { stageId })).commands;
const ended = (kit: Kit, kind: string, state: string) =>
  kit.client.event('worktree-command-updated', (data) => data.kind === kind && data.state === state);
const create = async (kit: Kit): Promise<StageId> =>
  (await kit.client.command('create_stage', { projectId: 'shop', title: 'A stage', prompt: HELLO })).stage.id;
const worktreeOf = async (kit: Kit, stageId: string) => (await stageOf(kit, stageId)).worktree?.path ?? '';

it('sets a worktree up before Claude starts, says what failed, and cleans it up when the stage is done', async () => {
  const kit = await createKit();
  await settings(kit, {
    setup: { command: 'echo installing; test -e ../ready && echo $PORT > installed' },
    cleanup: { command: 'echo bye; rm installed' },
  });
  const stageId = await kit.startStage(HELLO);
  await kit.client.state(stageId, 'failed');
  const failed = await stageOf(kit, stageId);
  expect(failed).toMatchObject({ column: 'needs-you', setup: 'due' });
  expect(failed.session?.lastTurn?.message).toMatch(/did not succeed.*exit code 1[\s\S]*installing/);
  expect(kit.model.requests.filter(({ kind }) => kind === 'script')).toHaveLength(0);
  expect(await readdir(join(kit.dataDir, 'sessions', stageId))).toEqual([]);
  await writeFile(join(await worktreeOf(kit, stageId), '../ready'), '');
  await kit.client.command('start_stage', { stageId });
  await kit.client.state(stageId, 'idle');
  expect(await stageOf(kit, stageId)).toMatchObject({ setup: 'done', column: 'review' });
  const [second, first] = await runsOf(kit, stageId);
  expect([first, second]).toMatchObject([
    { state: 'failed', exitCode: 1, attempt: 1 },
    { state: 'passed', attempt: 2, isolation: { level: 'none', reason: 'The sandbox is off for this project.' } },
  ]);
  const path = await worktreeOf(kit, stageId);
  expect(Number(await readFile(join(path, 'installed'), 'utf8'))).toBeGreaterThan(21_000 - 1);
  await kit.client.command('complete_stage', { stageId });
  const cleaned = await ended(kit, 'cleanup', 'passed');
  await expect(readFile(join(path, 'installed'))).rejects.toThrow();
  expect((await kit.client.command('get_command_output', { stageId, commandId: cleaned.id })).output).toBe('bye\n');
  // A message reopens it, and what was cleaned up is set up again first.
  await kit.client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Again.' }] }) });
  await until('it is set up again', async () => (await stageOf(kit, stageId)).setup === 'done');
  await kit.client.state(stageId, 'idle');
  expect(await readFile(join(path, 'installed'), 'utf8')).not.toBe('');
});

itAll('starts without a set-up if a person says so, and a person stops one that hangs', async () => {
  const kit = await createKit({ isEmulated: true });
  await settings(kit, { setup: { command: 'sleep 1000', timeLimit: 900 } });
  const stageId = await create(kit);
  await kit.client.command('start_stage', { stageId }); // replies although the set-up goes on
  const { id } = await ended(kit, 'setup', 'running');
  await kit.client.command('stop_stage', { stageId });
  await kit.client.state(stageId, 'failed');
  expect((await findCommandProcesses()).get(id)).toBeUndefined();
  expect((await stageOf(kit, stageId)).session?.lastTurn?.message).toContain('Stopped by');
  await kit.client.command('start_stage', { stageId, withoutSetup: true });
  await kit.client.state(stageId, 'idle');
  expect(await stageOf(kit, stageId)).toMatchObject({ setup: 'skipped', column: 'review' });
});

it('runs a set-up again that a kill of Callboard has cut off, and never takes it for done', async () => {
  const kit = await createKit({ isEmulated: true, where: 'apart' });
  await settings(kit, {
    setup: { command: 'echo try >> tries; if [ $(wc -l < tries) -lt 2 ]; then setsid sleep 1000 & sleep 1000; fi' },
  });
  const stageId = await create(kit);
  await kit.client.command('start_stage', { stageId });
  const { id } = await ended(kit, 'setup', 'running');
  const path = await worktreeOf(kit, stageId);
  await until('it has begun', () =>
    readFile(join(path, 'tries'), 'utf8').then(
      (text) => text === 'try\n',
      () => false,
    ),
  );
  await kit.kill();
  await kit.start();
  await kit.client.state(stageId, 'idle');
  expect((await findCommandProcesses()).get(id)).toBeUndefined();
  const [second, first] = await runsOf(kit, stageId);
  expect(first).toMatchObject({ id, state: 'interrupted', reason: expect.stringContaining('restart of Callboard') });
  expect(second).toMatchObject({ state: 'passed', attempt: 2 });
  expect(await readFile(join(path, 'tries'), 'utf8')).toBe('try\ntry\n');
  expect(await readdir(join(kit.dataDir, 'sessions', stageId))).toHaveLength(1); // that of the living process
});

it('uses callboard.yaml of the base commit once a person has agreed to what it runs', async () => {
  const kit = await createKit({ isEmulated: true });
  await settings(kit, { setup: { command: 'touch by-person' } });
  const commit = async (text: string) => {
    await writeFile(join(kit.repo, 'callboard.yaml'), text);
    await run('git', ['add', '.'], { cwd: kit.repo });
    await run('git', ['-c', 'user.name=A', '-c', 'user.email=a@b.c', 'commit', '-qm', 'Settings'], { cwd: kit.repo });
  };
  await commit('setup:\n  comand: npm ci\n');
  const broken = await create(kit);
  const start = (stageId: string) => kit.client.command('start_stage', { stageId });
  await expect(start(broken)).rejects.toThrow(
    /settings_invalid: callboard.yaml cannot be used \(line 2, setup.comand\)/,
  );
  await commit('setup: touch by-file\ndevServers:\n  web: npm run dev\n');
  const stageId = await create(kit);
  await expect(start(stageId)).rejects.toMatchObject({ code: 'settings_not_agreed' });
  expect(await runsOf(kit, stageId)).toEqual([]);
  const { trust } = await kit.client.command('get_trust', { projectId: 'shop' });
  expect(trust.needed).toBe(true);
  expect(trust.items.map(({ kind, value, file }) => [kind, value, file])).toEqual([
    ['command', 'touch by-file', 'callboard.yaml'],
    ['command', 'npm run dev', 'callboard.yaml'],
  ]);
  const { project } = await kit.client.command('trust_project', { projectId: 'shop', hash: trust.hash });
  expect(project.trust.needed).toBe(false);
  expect(project.file).toMatchObject({ settings: { setup: { command: 'touch by-file' } }, problems: [] });
  await start(stageId);
  await kit.client.state(stageId, 'idle');
  const path = await worktreeOf(kit, stageId);
  await readFile(join(path, 'by-file'));
  await expect(readFile(join(path, 'by-person'))).rejects.toThrow();
  // The newest state of the repository does not matter to a stage that began before it.
  await commit('setup: touch another\n');
  await expect(kit.client.command('run_stage_command', { stageId, kind: 'setup' })).resolves.toMatchObject({
    command: { command: 'touch by-file', by: expect.any(String) },
  });
});

itAll('fetches before a stage begins, and goes on without if a person says so', async () => {
  const kit = await createKit({ isEmulated: true });
  const git = (cwd: string, ...args: string[]) =>
    run('git', ['-c', 'user.name=A', '-c', 'user.email=a@b.c', ...args], { cwd });
  const remote = join(kit.folder, 'remote.git');
  const other = join(kit.folder, 'other');
  await mkdir(other);
  await git(kit.folder, 'clone', '-q', '--bare', kit.repo, remote);
  await git(kit.repo, 'remote', 'add', 'origin', remote);
  await git(kit.repo, 'fetch', '-q', 'origin');
  const branch = (await git(kit.repo, 'symbolic-ref', '--short', 'HEAD')).stdout.trim();
  await git(kit.repo, 'branch', `--set-upstream-to=origin/${branch}`);
  await git(kit.folder, 'clone', '-q', remote, other);
  await git(other, 'commit', '-q', '--allow-empty', '-m', 'By somebody else');
  await git(other, 'push', '-q');
  const newest = (await git(other, 'rev-parse', 'HEAD')).stdout.trim();
  await settings(kit, { fetch: true });
  const stageId = await kit.startStage(HELLO);
  await kit.client.state(stageId, 'idle');
  expect((await stageOf(kit, stageId)).worktree?.base).toBe(newest);
  await rename(remote, `${remote}.away`);
  const offline = await create(kit);
  await expect(kit.client.command('start_stage', { stageId: offline })).rejects.toMatchObject({ code: 'fetch_failed' });
  expect(await stageOf(kit, offline)).toMatchObject({ column: 'needs-you', worktree: null });
  await kit.client.command('start_stage', { stageId: offline, withoutFetch: true });
  await kit.client.state(offline, 'idle');
});

it('runs dev servers on ports of their own, finds where they listen, and leaves none behind', async () => {
  const kit = await createKit({ isEmulated: true });
  const listen = `require('node:http').createServer((_, reply) => reply.end(process.env.NAME)).listen(Number(process.env.PORT) + Number(process.env.PLUS), '127.0.0.1')`;
  const server = (name: string, plus: number) => ({
    command: `export NAME=${name} PLUS=${plus}; (setsid sleep 1000 &); '${process.execPath}' -e "${listen}"`,
  });
  await settings(kit, { devServers: { web: server('web', 0), api: server('api', 5) } });
  const stageId = await kit.startStage(HELLO);
  await kit.client.state(stageId, 'idle');
  const start = (name: string) => kit.client.command('start_server', { stageId, name });
  await expect(start('none')).rejects.toMatchObject({ code: 'unknown_server' });
  await Promise.all([start('web'), start('api')]);
  await expect(start('web')).rejects.toMatchObject({ code: 'command_running' });
  const portOf = async (name: string) =>
    (await kit.client.event('worktree-command-updated', (data) => data.name === name && data.port !== null)).port ?? 0;
  const [web, api] = [await portOf('web'), await portOf('api')];
  expect(web % 10).toBe(0);
  expect(api).toBe(web + 6); // its own port is the next one, and it adds five
  expect(await (await fetch(`http://127.0.0.1:${web}`)).text()).toBe('web');
  expect(await (await fetch(`http://127.0.0.1:${api}`)).text()).toBe('api');
  const { server: stopped } = await kit.client.command('stop_server', { stageId, name: 'web' });
  expect(stopped.run).toMatchObject({ state: 'stopped' });
  await expect(fetch(`http://127.0.0.1:${web}`)).rejects.toThrow();
  await kit.client.command('complete_stage', { stageId });
  await ended(kit, 'server', 'stopped');
  await kit.client.event(
    'worktree-command-updated',
    ({ name, reason }) => name === 'api' && reason === 'Its stage is done.',
  );
  await expect(start('web')).rejects.toMatchObject({ code: 'already_done' });
  const mine = (await runsOf(kit, stageId)).map(({ id }) => id);
  const left = await findCommandProcesses();
  expect(mine.flatMap((id) => left.get(id) ?? [])).toEqual([]);
});

it('takes the worktree of the next stage from one that is kept ready, which goes with the project', async () => {
  const kit = await createKit({
    isEmulated: true,
    where: 'apart',
    async before(repo) {
      for (let n = 0; n < 600; n++) await writeFile(join(repo, `file-${n}.txt`), `${n}\n`);
      await writeFile(join(repo, '.gitignore'), '*.env\nhere\n');
      await writeFile(join(repo, 'local.env'), 'KEY=1\n');
      await commitAll(repo);
    },
  });
  await settings(kit, { setup: { command: 'pwd > here' }, copyIgnored: ['*.env'] });
  const spare = join(kit.dataDir, 'worktrees', 'shop', '.spare');
  const listed = () => git(kit.repo, 'worktree', 'list', '--porcelain');
  const isReady = () => until('one is ready', async () => (await listed()).includes('locked Callboard keeps'));
  /** Starts a stage. @returns whether its worktree is the one that was ready */
  const starts = async () => {
    const inode = await stat(spare).then(
      ({ ino }) => ino,
      () => null,
    );
    const stageId = await kit.startStage(HELLO);
    await kit.client.state(stageId, 'idle');
    const path = await worktreeOf(kit, stageId);
    expect(await readFile(join(path, 'here'), 'utf8')).toBe(`${path}\n`);
    expect(await readFile(join(path, 'local.env'), 'utf8')).toBe('KEY=1\n');
    expect(await git(path, 'status', '--porcelain', '--branch')).toBe(`## callboard/${stageId}`);
    return { stageId, wasReady: (await stat(path)).ino === inode };
  };
  const first = await starts();
  await isReady();
  const { worktrees } = await kit.client.command('get_worktrees', { projectId: 'shop' });
  expect(worktrees.map(({ name }) => name)).toEqual([first.stageId]);
  const second = await starts();
  expect(second.wasReady).toBe(true);
  await isReady();
  await kit.kill();
  await kit.start('apart');
  const third = await starts();
  expect(third.wasReady).toBe(true);
  await isReady();
  await settings(kit, { spareWorktree: false });
  await expect(stat(spare)).rejects.toThrow();
  for (const { stageId } of [first, second, third]) {
    await kit.client.command('stop_stage', { stageId });
    await kit.client.command('remove_stage', { stageId });
  }
  await kit.client.command('remove_project', { projectId: 'shop' });
  expect((await listed()).match(/^worktree /gm)).toHaveLength(1);
  await expect(stat(spare)).rejects.toThrow();
});
