import { copyFile, link, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkspaceSettings } from '@callboard/contract';
import { isAlive } from '@callboard/runtime/process-identity';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { until } from '../../../../../test-support/until.ts';
import { openTestStore, sampleProject, silent } from '../../../test/support/test-store.ts';
import { endAllSessions } from '../../end-all-sessions.ts';
import { findCommandProcesses } from '../../platform/process-table.ts';
import { createIsolationTrial } from './command-sandbox.ts';
import { type CommandOrder, createPorts, createWorktreeCommands } from './worktree-commands.ts';
import { createCleanUp } from './worktree-setup.ts';

const user = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: '/root', MINE: 'yes' };
const trial = createIsolationTrial(user);
const hasSandbox = (await trial()).possible;

const scene = async (sandbox: boolean) => {
  const { store, platform, events, addStage, dataDir } = await openTestStore();
  const path = join(dataDir, 'worktrees/shop/S1');
  const checkout = join(await temporaryFolder(), 'shop');
  for (const folder of [path, checkout]) await mkdir(folder, { recursive: true });
  await store.transact((tx) => tx.projects.save(sampleProject({ path: checkout, settings: { sandbox } })));
  const stageId = await addStage({ worktree: { path, branch: 'callboard/S1', base: 'abc' } });
  const open = (graceMs = 1_000) => {
    const deps = { store, platform, log: silent, dataDir, env: user, graceMs, isolation: trial };
    const commands = createWorktreeCommands({
      ...deps,
      ports: createPorts({ store, dataDir }),
      requireInPlace: () => undefined,
      cachesOf: async () => [],
    });
    onTestFinished(commands.shutDown);
    return commands;
  };
  const commands = open();
  const order = (command: string, more: Partial<CommandOrder> = {}): CommandOrder => ({
    stageId,
    kind: 'setup',
    name: 'setup',
    command,
    timeLimitMs: null,
    by: 'Ada',
    ...more,
  });
  const run = async (command: string, more: Partial<CommandOrder> = {}) => {
    const ended = await (await commands.start(order(command, more))).ended;
    const { output } = await commands.output(stageId, ended.id, {});
    return { ...ended, output };
  };
  return { dataDir, path, store, events, stageId, commands, open, order, run };
};

type Scene = Awaited<ReturnType<typeof scene>>;
const places = [['in the sandbox', true] as const, ['outside of it', false] as const].filter(
  ([, sandbox]) => !sandbox || hasSandbox,
);
const started = async ({ path }: Scene) => {
  await until('it has started', () =>
    readFile(join(path, 'up'), 'utf8').then(
      () => true,
      () => false,
    ),
  );
};
const left = async (id: string) => (await findCommandProcesses()).get(id) ?? [];

describe.each(places)('a command that runs %s', (_where, sandbox) => {
  let here: Scene;
  beforeEach(async () => {
    here = await scene(sandbox);
  });

  it('keeps both streams, and how it ended', async () => {
    const ended = await here.run('pwd; echo bad >&2; exit 3');
    expect(ended).toMatchObject({ state: 'failed', exitCode: 3, reason: 'It ended with exit code 3.', attempt: 1 });
    expect(ended.isolation.level).toBe(sandbox ? 'sandbox' : 'none');
    expect(ended.output).toBe(`${here.path}\nbad\n`);
    expect(await here.run('echo fine')).toMatchObject({ state: 'passed', reason: null, attempt: 2, output: 'fine\n' });
    const [newest, first] = await here.commands.list(here.stageId);
    expect([newest?.state, first?.state]).toEqual(['passed', 'failed']);
    const reported = here.events.filter(({ type }) => type === 'worktree-command-updated');
    expect(reported.map(({ data }) => ('state' in data ? data.state : ''))).toEqual([
      'running',
      'failed',
      'running',
      'passed',
    ]);
  });

  it('has the environment of the user, its ports and nothing else of Callboard', async () => {
    const { output } = await here.run('env');
    const env = new Map(
      output
        .trim()
        .split('\n')
        .map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)]),
    );
    expect(env.get('MINE')).toBe('yes');
    expect(env.get('PORT')).toBe(env.get('CALLBOARD_PORT_BASE'));
    expect(Number(env.get('PORT'))).toBeGreaterThanOrEqual(21_000);
    expect([...env.keys()].filter((name) => name?.startsWith('CALLBOARD_')).toSorted()).toEqual(
      ['BRANCH', 'MAIN_CHECKOUT', 'PORT_BASE', 'STAGE_ID', 'STAGE_INDEX', 'WORKTREE'].map(
        (name) => `CALLBOARD_${name}`,
      ),
    );
  });

  it('ends after its time limit, with everything that it has started', async () => {
    const script = 'trap "" TERM; setsid sleep 1000 & (setsid sh -c "sleep 1001" &); touch up; sleep 1002';
    const ended = await here.run(script, { timeLimitMs: 800 });
    expect(ended).toMatchObject({ state: 'timed-out', exitCode: null });
    expect(ended.reason).toContain('time limit of 1 s');
    expect(await left(ended.id)).toEqual([]);
  });

  it('is stopped by a person: in order where it listens, with what has left its group', async () => {
    const script = 'trap "echo bye; exit 0" TERM; setsid sleep 1000 & touch up; while :; do sleep 0.05; done';
    const { command, ended } = await here.commands.start(here.order(script));
    await expect(here.commands.start(here.order('true'))).rejects.toMatchObject({ code: 'command_running' });
    await started(here);
    const stopped = await here.commands.stop(here.stageId, command.id, 'Ada');
    expect(stopped).toMatchObject({ state: 'stopped', reason: 'Stopped by Ada.' });
    expect(await ended).toEqual(stopped);
    expect((await here.commands.output(here.stageId, command.id, {})).output).toContain('bye\n');
    expect(await left(command.id)).toEqual([]);
  });

  it('leaves nothing behind when it ends by itself', async () => {
    const ended = await here.run('setsid sleep 1000 & echo done');
    expect(ended).toMatchObject({ state: 'passed', output: 'done\n' });
    expect(await left(ended.id)).toEqual([]);
  });

  it('is ended by the next orchestrator when its own was killed', async () => {
    const { command } = await here.commands.start(here.order('setsid sleep 1000 & touch up; sleep 1001'));
    await started(here);
    const running = () => here.store.read.worktreeCommands.listRunning();
    await until('its process is stored', async () => (await running())[0]?.process !== null);
    const [stored] = await running();
    const next = here.open();
    const [ended] = await Promise.all([next.start(here.order('true'))]);
    expect((await ended.ended).state).toBe('passed');
    if (stored?.process) expect(await isAlive(stored.process)).toBe(false);
    expect(await left(command.id)).toEqual([]);
    const known = (await next.list(here.stageId)).find(({ id }) => id === command.id);
    expect(known?.endedAt).not.toBeNull();
  });
});

describe.skipIf(!hasSandbox)('the sandbox of a command', () => {
  it('hides the data of Callboard, writes the worktree and the caches, and nothing else', async () => {
    const here = await scene(true);
    const { output, state } = await here.run(
      `ls -A ${here.dataDir}; echo x > new && echo wrote; mkdir -p "$npm_config_cache" && echo y > "$npm_config_cache/a" && echo cached; (echo z > /etc/callboard-test) 2>/dev/null || echo refused`,
    );
    expect(output.split('\n')).toEqual(['caches', 'worktrees', 'wrote', 'cached', 'refused', '']);
    expect(state).toBe('passed');
  });

  it('lets the machine reach what listens inside', async () => {
    const here = await scene(true);
    // The sandbox has a `/tmp` of its own, and Node may be in there.
    const node = join(here.path, 'node');
    await link(process.execPath, node).catch(() => copyFile(process.execPath, node));
    const server = `require('node:http').createServer((_, reply) => reply.end('hello')).listen(process.env.PORT, '127.0.0.1', () => require('node:fs').writeFileSync('up', process.env.PORT))`;
    await here.commands.start(here.order(`./node -e "${server}"`, { kind: 'server', name: 'web' }));
    await started(here);
    await until('its port is written', async () => (await readFile(join(here.path, 'up'), 'utf8')) !== '');
    const port = await readFile(join(here.path, 'up'), 'utf8');
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('hello');
    await here.commands.endAllOf(here.stageId, 'Its stage is done.');
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow();
    expect(await here.commands.list(here.stageId)).toMatchObject([{ state: 'stopped', reason: 'Its stage is done.' }]);
  });
});

it('refuses a stage without a worktree, and an unknown run', async () => {
  const { commands, order, store, stageId } = await scene(false);
  await expect(commands.output(stageId, 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', {})).rejects.toMatchObject({
    code: 'unknown_command',
  });
  const stage = await store.read.stages.find(stageId);
  if (stage !== null) await store.transact((tx) => tx.stages.update({ ...stage, worktree: null }));
  await expect(commands.start(order('true'))).rejects.toMatchObject({ code: 'no_worktree' });
});

it('keeps the newest runs of a name', async () => {
  const { run, commands, stageId } = await scene(false);
  for (let n = 0; n < 22; n++) await run('true', { kind: 'check', name: 'lint' });
  const saved = await commands.list(stageId);
  expect(saved.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 20 }, (_, n) => 22 - n));
});

it('ends with all its processes when everything is ended while Callboard is not running', async () => {
  const here = await scene(hasSandbox);
  const { command } = await here.commands.start(
    here.order('setsid sleep 1000 & touch up; sleep 1001', { kind: 'server', name: 'web' }),
  );
  await started(here);
  await until('its process is stored', async () =>
    (await here.store.read.worktreeCommands.listRunning()).some(({ process }) => process !== null),
  );
  expect(await endAllSessions(here.dataDir, { log: () => undefined })).toEqual({ ended: 0, failed: [] });
  expect(await left(command.id)).toEqual([]);
});

it('stops a command even if the store cannot be read any more', async () => {
  const { store, stageId, commands, order } = await scene(false);
  const { command } = await commands.start(order('sleep 1000'));
  await until('its process is stored', async () =>
    (await store.read.worktreeCommands.listRunning()).some(({ process }) => process !== null),
  );
  await store.close();
  expect(await commands.stop(stageId, command.id, 'Ada')).toMatchObject({ state: 'stopped' });
  await expect(commands.stop(stageId, command.id, 'Ada')).rejects.toThrow();
});

it('says that Callboard is stopping, and stores no run that cannot begin', async () => {
  const { commands, order, stageId, dataDir, open } = await scene(false);
  await writeFile(join(dataDir, 'commands'), 'in the way');
  await expect(commands.start(order('true'))).rejects.toThrow(/ENOTDIR|EEXIST/);
  expect(await commands.list(stageId)).toEqual([]);
  const stopped = open();
  await stopped.shutDown();
  await expect(stopped.start(order('true'))).rejects.toMatchObject({ code: 'orchestrator_unreachable' });
});

it('lets a clean-up hold up a removal only for so long', async () => {
  const { store, stageId, commands, dataDir } = await scene(false);
  const settings = WorkspaceSettings.parse({ cleanup: { command: 'trap "" TERM; sleep 1000', timeLimit: 600 } });
  const cleanUp = createCleanUp({
    store,
    log: silent,
    commands,
    ports: createPorts({ store, dataDir }),
    beforeRemovalMs: 300,
    settingsOf: async () => settings,
  });
  await cleanUp.beforeRemoval(stageId);
  const [run] = await commands.list(stageId);
  expect(run).toMatchObject({ kind: 'cleanup', state: 'timed-out' });
  expect(await left(run?.id ?? '')).toEqual([]);
});
