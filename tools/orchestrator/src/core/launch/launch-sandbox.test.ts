import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ProjectId, ProjectSettings } from '@callboard/contract';
import { beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { stageId } from '../../../test/support/test-store.ts';
import { chooseSandbox, refusalOfSandbox, type SandboxRequest } from './prepare-launch.ts';

const stageWith = (sandbox: boolean | null) => ({ id: stageId('STAGE-1'), sandbox });
const WORKS = { state: 'works', why: null, how: null, isRefused: false } as const;
const FAILS = { state: 'fails', why: 'socat is not installed.', how: 'Install it.', isRefused: false } as const;

let wish: (settings: Partial<ProjectSettings>, more?: Partial<SandboxRequest>) => SandboxRequest;
beforeEach(async () => {
  const folder = await temporaryFolder();
  const [dataDir, home, path] = [join(folder, 'data'), join(folder, 'home'), join(folder, 'shop')];
  const worktree = join(dataDir, 'worktrees', 'shop', 'stage-1');
  for (const made of [worktree, join(home, '.claude'), join(path, '.claude')]) await mkdir(made, { recursive: true });
  wish = (settings, more = {}) => ({
    stage: stageWith(null),
    project: { id: ProjectId.parse('shop'), path, settings: ProjectSettings.parse(settings) },
    worktree,
    dataDir,
    env: { HOME: home },
    version: '2.1.330',
    excluded: [],
    ...more,
  });
});

it('uses the sandbox if the project and the machine allow it, and hides the files of Callboard', async () => {
  const asked = wish({ sandbox: true, sandboxAutoAllow: true });
  const { sandbox, isolation } = await chooseSandbox(asked, async () => WORKS);
  expect(isolation).toEqual({ level: 'prevented', reason: 'sandboxed', detail: null });
  expect(sandbox).toMatchObject({
    autoAllow: true,
    hidden: [asked.dataDir, join(asked.env.HOME ?? '', '.config', 'callboard')],
    readable: ['worktrees', 'sandbox/STAGE-1.sh', 'caches/shop'].map((path) => join(asked.dataDir, path)),
    writable: [join(asked.dataDir, 'caches/shop')],
    variables: { CLAUDE_ENV_FILE: join(asked.dataDir, 'sandbox/STAGE-1.sh') },
  });
  // A missing path is left out: the CLI would put a device in its place.
  const { path } = asked.project;
  expect(sandbox?.kept).toEqual([path, asked.env.HOME ?? ''].map((folder) => join(folder, '.claude')));
});

it.each([
  ['the stage says no', { sandbox: true }, { stage: stageWith(false) }, { reason: 'off-for-stage', detail: null }],
  ['the project says no', { sandbox: false }, {}, { reason: 'off-for-project', detail: null }],
  ['nobody has decided', { sandbox: null }, {}, { reason: 'undecided', detail: null }],
  ['the sandbox does not work', { sandbox: true }, {}, { reason: 'unavailable', detail: 'socat is not installed.' }],
  [
    'Claude Code is too old for it',
    { sandbox: true },
    { version: '2.1.300' },
    { reason: 'unavailable', detail: expect.stringContaining('2.1.300') },
  ],
])('runs commands outside, and says why, if %s', async (_name, settings, more, expected) => {
  const chosen = await chooseSandbox(wish(settings, more), async () => FAILS);
  expect(chosen).toEqual({ sandbox: null, isolation: { level: 'noticed', ...expected } });
});

it('prefers the setting of the stage to the project’s, and tests the machine only if the sandbox is wanted', async () => {
  const never = () => Promise.reject(new Error('tried'));
  const off = await chooseSandbox(wish({ sandbox: false }), never);
  expect(off.sandbox).toBeNull();
  const on = await chooseSandbox(wish({ sandbox: false }, { stage: stageWith(true) }), async () => WORKS);
  expect(on.isolation.level).toBe('prevented');
});

it.each([
  ['settings that let commands out', { sandbox: true }, { excluded: ['docker *'] }, 'docker *'],
  ['a socket', { sandbox: true, sandboxSockets: ['/run/docker.sock'] }, {}, '/run/docker.sock'],
])('only notices forged answers with %s', async (_name, settings, more, detail) => {
  const { sandbox, isolation } = await chooseSandbox(wish(settings, more), async () => WORKS);
  expect(sandbox).not.toBeNull();
  expect(isolation).toEqual({ level: 'noticed', reason: 'loosened', detail: expect.stringContaining(detail) });
});

it('says that Claude Code refused the sandbox', async () => {
  const chosen = await chooseSandbox(wish({ sandbox: true }), async () => ({ ...FAILS, isRefused: true }));
  expect(chosen.isolation).toMatchObject({ level: 'noticed', reason: 'refused-by-claude', detail: FAILS.why });
});

it('recognises the refusal of Claude Code', () => {
  const reason = 'It ended with exit code 1: Error: sandbox required but unavailable: socat not installed';
  expect(refusalOfSandbox(reason)).toBe('socat not installed');
  expect(refusalOfSandbox('It ended with exit code 1.')).toBeNull();
});
