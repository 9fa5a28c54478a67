import { execFile } from 'node:child_process';
import { access, constants, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { until } from '../../../../test-support/until.ts';
import { canIsolate, isolated } from '../../src/platform/bubblewrap.ts';
import { ATTACK_FILES, attackCommand } from '../support/attack/aim.ts';
import { markedBy, OUTCOMES, outcomesIn, type Scene, setScene, thatWere } from '../support/attack/scene.ts';
import type { Outcome } from '../support/attack/targets.ts';
import { createKit, type Kit } from '../support/kit.ts';

/** Skips a test whose requirements the machine does not meet, and names them in the title. */
const trial = await canIsolate({ PATH: process.env.PATH ?? '' });
const needs = (...lacks: (string | null)[]) => {
  const lack = lacks.filter((one) => one !== null).join('; ');
  return (name: string, test: () => Promise<void>) =>
    it.skipIf(lack !== '')(lack === '' ? name : `${name} (${lack})`, test);
};
const hasSocat = await promisify(execFile)('socat', ['-V']).then(
  () => true,
  () => false,
);
const bubblewrap = trial.possible ? null : `needs bubblewrap: ${trial.detail}`;
const socat = hasSocat ? null : 'needs socat';

/** Whether the system lets a process inspect another process of the same account. */
const mayTrace = (await readFile('/proc/sys/kernel/yama/ptrace_scope', 'utf8').catch(() => '0')).trim() === '0';
/** Only root may write it. */
const KERNEL = '/proc/sys/kernel/core_pattern';
const maySetKernel = await access(KERNEL, constants.W_OK).then(
  () => true,
  () => false,
);

/** Attacks that raise an alarm, with the code of the alarm. */
const ALARMS = {
  'fifo-path': 'foreign-control',
  'fifo-proc': 'foreign-control',
  'fifo-root': 'foreign-control',
  'spool-path': 'forged-output',
  ...(mayTrace && { 'fifo-pidfd': 'foreign-control' }),
};
/** Attacks that raise no alarm, so that one session can try them all. */
const QUIET = [
  ...['store-read', 'store-write', 'data-dir', 'secret-files', 'settings-user', 'settings-user-state'],
  ...['settings-checkout', 'settings-checkout-local', 'settings-worktree', 'settings-worktree-local'],
  ...['servers-worktree', 'servers-checkout', 'conversation', 'home', 'git-config', 'git-hook', 'git-file'],
  ...['git-commondir', 'git-config-worktree', 'git-main-branch', 'checkout-file', 'other-worktree', 'other-temporary'],
  ...['ports', 'sockets', 'signal-claude', 'signal-callboard', 'sigusr1', 'environment'],
  ...(mayTrace ? ['ptrace', 'memory'] : []),
  ...(maySetKernel ? ['kernel-settings'] : []),
];
const LEAVES = ['survive', 'survive-apart'];
/** New files in the worktree; existing ones are read-only. Reported as if Claude had written them (see below). */
const NOTICED_IN_ISOLATION = ['settings-worktree', 'settings-worktree-local', 'servers-worktree'];

async function setUp(beside = { sandbox: false }): Promise<Kit & Scene> {
  const kit = await createKit({ where: 'apart', maxParallel: 8 });
  if (beside.sandbox) await kit.client.notices(({ sandbox }) => sandbox.state === 'works');
  return { ...kit, ...(await setScene(kit, beside)) };
}

const missing = (outcomes: Record<string, Outcome>) => thatWere(outcomes, 'missing');

needs(bubblewrap, socat)('reaches nothing from a session in the sandbox, and leaves nothing behind', async () => {
  const kit = await setUp({ sandbox: true });
  const { stageId, targets } = await kit.attack([], { sandbox: true });
  await kit.client.state(stageId, 'idle');
  const outcomes = await outcomesIn(join(targets.worktree, OUTCOMES));
  expect(thatWere(outcomes, 'reached')).toEqual([]);
  expect(missing(outcomes)).toEqual([]);
  expect(thatWere(outcomes, 'started')).toEqual(LEAVES);
  await until('nothing is left of it', async () => (await markedBy(targets.marker)).length === 0);
  expect(kit.connections()).toBe(0);
  const { session } = await kit.client.command('get_session', { stageId });
  expect(session).toMatchObject({ alarm: null, mode: 'default', isolation: { level: 'prevented' } });
  const reported = (await kit.client.transcript(stageId)).flatMap((entry) =>
    entry.kind === 'notice' ? [entry.code] : [],
  );
  expect(reported).toEqual([]);
  expect(await git(targets.worktree, 'log', '-1', '--format=%s')).toBe('Work'); // the sandbox allows committing, which is the stage's task
});

needs(bubblewrap)('reaches nothing from a command that Callboard isolates itself', async () => {
  const kit = await setUp();
  const { stageId, targets } = await kit.attack(['ports'], { sandbox: false });
  await kit.client.state(stageId, 'idle');
  const place = {
    folder: targets.worktree,
    dataDir: kit.dataDir,
    readable: [kit.folder, ...ATTACK_FILES], // more than any caller shows: the script must find its targets
    writable: [],
    hidden: [join(kit.env.HOME ?? '', '.claude.json')],
    network: 'none' as const,
  };
  const script = attackCommand(join(kit.folder, 'targets-ports.json'));
  const { command, args, ...options } = await isolated(['sh', '-c', script], place, { user: kit.env });
  const { stdout } = await execa(command, args, { ...options, extendEnv: false });
  const outcomes: Record<string, Outcome> = JSON.parse(stdout);
  expect(thatWere(outcomes, 'reached')).toEqual(NOTICED_IN_ISOLATION);
  expect(missing(outcomes)).toEqual(['ports-proxy', 'messaging']); // neither exists here
  await until('nothing is left of it', async () => (await markedBy(targets.marker)).length === 0);
  expect(kit.connections()).toBe(1); // from the session without a sandbox
});

it('reaches everything from a session without a sandbox, and Callboard reports as much as it can detect', async () => {
  const { client, projectId, ...kit } = await setUp();
  const { stageId, targets } = await kit.attack([...QUIET, ...LEAVES], { sandbox: false });
  await client.state(stageId, 'idle');
  const outcomes = await outcomesIn(join(targets.worktree, OUTCOMES));
  expect(thatWere(outcomes, 'reached').toSorted()).toEqual(QUIET.toSorted());

  const changed = async () =>
    (await client.transcript(stageId)).flatMap((entry) =>
      entry.kind === 'notice' && entry.code === 'settings-changed' ? [entry.text] : [],
    );
  // The watch reads one file after the other while the attack still writes, so the files may come in several notices.
  for (const file of [
    '~/.claude/settings.json',
    '.claude/settings.json',
    '.claude/settings.local.json',
    '.claude/settings.local.json (main checkout)',
  ])
    await expect.poll(async () => (await changed()).join('\n')).toContain(`rule Bash(attack *) (${file})`);
  const programs = async () => {
    const { projects } = await client.command('get_projects', {});
    return projects.find((project) => project.id === projectId)?.gitSettings.items.map((item) => item.name);
  };
  await expect.poll(programs).toEqual(['core.fsmonitor', 'post-merge']);

  await client.command('stop_stage', { stageId });
  await client.event('session-updated', (session) => session.stageId === stageId && session.leftovers > 0);
  const { processes } = await client.command('get_leftovers', { stageId });
  const left = processes.filter((process) => process.command.includes(targets.marker));
  expect(left).toMatchObject([{ command: expect.stringContaining(`${targets.marker}-seen`) }]);
  expect(await markedBy(targets.marker)).toHaveLength(2); // nothing detects the other process
});

it('raises an alarm for each way to write to a session’s input or output, including another session’s', async () => {
  const kit = await setUp();
  for (const [attack, code] of Object.entries(ALARMS)) {
    const { stageId } = await kit.attack([attack], { sandbox: false });
    expect(await kit.alarm(stageId), attack).toMatchObject({ code });
  }
  await kit.attack(['fifo-other'], { sandbox: false });
  expect(await kit.alarm(kit.otherId)).toMatchObject({ code: 'foreign-control' });
});
