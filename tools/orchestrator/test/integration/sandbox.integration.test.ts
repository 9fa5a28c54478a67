import { access, chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Isolation } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { beforeAll, describe, expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { checkSandbox } from '../../src/core/claude/sandbox.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { write } from '../support/settings-files.ts';

const bash = (command: string, leaves = false) => ({
  tools: [
    {
      name: 'Bash',
      input: { command, description: 'a command', ...(leaves && { dangerouslyDisableSandbox: true }) },
    },
  ],
});
const runs = (...commands: string[]) => prompt({ steps: [...commands.map((one) => bash(one)), { text: 'Done.' }] });

const isolationOf = async ({ client }: Kit, stageId: string): Promise<Isolation> =>
  (await client.command('get_session', { stageId })).session.isolation;
const results = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).filter((entry) => entry.kind === 'tool-result');
const worktreeOf = async ({ client }: Kit, stageId: string) =>
  (await client.command('get_stage', { stageId })).stage.worktree?.path ?? '';

/** Creates a project whose commands run in the sandbox without asking. */
async function inside(settings: Record<string, unknown> = {}, given: Parameters<typeof createKit>[0] = {}) {
  const kit = await createKit({ sandbox: true, ...given });
  await kit.client.command('update_project', {
    projectId: 'shop',
    settings: { sandboxAutoAllow: true, ...settings },
  });
  return kit;
}

let works = false;
beforeAll(async () => {
  // For root, Callboard puts its own `bwrap` before this one; this call asks the machine alone.
  const { state, why } = await checkSandbox({ PATH: process.env.PATH ?? '' });
  works = state === 'works' || (process.geteuid?.() === 0 && why?.includes('runs as root') === true);
});

describe('a session in the sandbox', () => {
  it('reaches nothing that answers it, commits its work, and its commands are counted and logged', async ({ skip }) => {
    if (!works) skip('the sandbox does not work here');
    const kit = await inside();
    const { client, dataDir, repo } = kit;
    const attack = [
      `for fifo in ${dataDir}/sessions/*/*/in.fifo; do echo '{}' >"$fifo" && echo reached; done`,
      `cat ${dataDir}/store.sqlite && echo reached`,
      'cat ~/.config/callboard/* && echo reached',
      `echo x >${repo}/.git/config && echo reached; echo x >${repo}/README.md && echo reached`,
      `echo '{}' >.claude/settings.local.json && echo reached; echo '{}' >~/.claude/settings.json && echo reached`,
      'true',
    ].join('; ');
    const stageId = await kit.startStage(
      runs(attack, 'echo n >new.txt && git add -A && git commit -q -m "Work" && git status --short'),
    );
    // A loop with variables needs a request whatever the sandbox allows.
    const { requestId } = await client.event('approval-requested');
    // A terminal is logged in while the session runs.
    await write(kit.env.HOME ?? '', { '.config/callboard/credentials.json': { token: 'reached' } });
    await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
    await client.state(stageId, 'idle');
    expect(await isolationOf(kit, stageId)).toEqual({ level: 'prevented', reason: 'sandboxed', detail: null });
    const [attacked, committed] = await results(kit, stageId);
    expect(attacked?.text).not.toContain('reached');
    expect(committed).toMatchObject({ isError: false, text: expect.not.stringContaining('??') });
    expect(await git(await worktreeOf(kit, stageId), 'log', '-1', '--format=%s')).toBe('Work');
    const { session } = await client.command('get_session', { stageId });
    expect([session.sandboxAllowed, session.alarm]).toEqual([1, null]);
    const { decisions } = await client.command('get_decisions', { stageId });
    expect(decisions).toContainEqual(
      expect.objectContaining({ outcome: 'allowed', by: 'Claude Code', asked: expect.stringContaining('git add -A') }),
    );
  });

  itAll(
    'does not get in the way of other sessions of its repository or of people in the main checkout',
    async ({ skip }) => {
      if (!works) skip('the sandbox does not work here');
      const kit = await inside();
      const { client, repo } = kit;
      const commands = Array.from({ length: 12 }, (_, index) => `echo ${index} >> ran.txt`);
      const stageIds = [await kit.startStage(runs(...commands)), await kit.startStage(runs(...commands))];
      // Git does this now and then on its own. A former file is gone then, and no empty file may hide that.
      await git(repo, 'pack-refs', '--all');
      await git(repo, 'config', 'user.nickname', 'Ada');
      for (const stageId of stageIds) await client.state(stageId, 'idle');
      for (const stageId of stageIds) {
        const texts = (await results(kit, stageId)).map(({ text }) => text);
        expect(texts).toEqual(commands.map(() => '(Bash completed with no output)'));
        expect(await git(await worktreeOf(kit, stageId), 'log', '--format=%s', 'main')).not.toBe('');
      }
      expect(await git(repo, 'status', '--porcelain')).toBe('');
    },
  );

  itAll('says that the sandbox made a command fail', async ({ skip }) => {
    if (!works) skip('the sandbox does not work here');
    const kit = await inside();
    const stageId = await kit.startStage(runs(`touch ${kit.folder}/outside`));
    await kit.client.state(stageId, 'idle');
    expect((await results(kit, stageId))[0]).toMatchObject({
      isError: true,
      sandboxFailure: { isCertain: false, detail: expect.stringContaining('Read-only file system') },
    });
  });

  it('asks before leaving the sandbox whatever rule exists, remembers no answer, and is monitored from then on', async ({
    skip,
  }) => {
    if (!works) skip('the sandbox does not work here');
    const kit = await inside();
    const { client, folder } = kit;
    // A rule that covers the command; without it Claude Code would ask anyway.
    await write(kit.env.HOME ?? '', { '.claude/settings.json': { permissions: { allow: ['Bash(touch *)'] } } });
    const outside = join(folder, 'outside');
    const stageId = await kit.startStage(
      prompt({ steps: [bash('touch inside'), bash(`touch ${outside}`, true), { text: 'Done.' }] }),
    );
    const asked = await client.event('approval-requested');
    expect(asked).toMatchObject({ leavesSandbox: { reason: null }, suggestions: [], suppressAlwaysAllow: true });
    expect((await isolationOf(kit, stageId)).level).toBe('prevented');
    const answer = { stageId, requestId: asked.requestId, decision: 'allow' } as const;
    const rule = { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash' }], destination: 'session' };
    const saved = client.command('approve_tool', { ...answer, updatedPermissions: [rule] });
    await expect(saved).rejects.toMatchObject({ code: 'bad_request' });
    await client.command('approve_tool', answer);
    await client.state(stageId, 'idle');
    await access(outside);
    expect(await isolationOf(kit, stageId)).toMatchObject({ level: 'noticed', reason: 'command-left' });
    // A new process, in the sandbox again: processes that left it before may still run.
    await client.command('stop_stage', { stageId });
    await client.command('send_message', { stageId, message: runs('touch again') });
    await client.state(stageId, 'idle');
    expect(await isolationOf(kit, stageId)).toMatchObject({ level: 'noticed', reason: 'command-left' });
  });

  itAll('reports settings that begin to let commands out, and keeps them in regardless', async ({ skip }) => {
    if (!works) skip('the sandbox does not work here');
    const kit = await inside({}, { limits: { settingsCheckIntervalMs: 200 } });
    const { client } = kit;
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'Ready.' }] }));
    await client.state(stageId, 'idle');
    const sandbox = { enabled: false, autoAllowBashIfSandboxed: true, excludedCommands: ['docker *'] };
    const file = join(await worktreeOf(kit, stageId), '.claude/settings.local.json');
    await write('/', { [file]: { sandbox: { ...sandbox, filesystem: { disabled: true, allowWrite: ['/'] } } } });
    await expect
      .poll(() => isolationOf(kit, stageId))
      .toMatchObject({ reason: 'settings-changed', detail: 'docker *' });
    await client.command('send_message', { stageId, message: runs(`cat ${kit.dataDir}/store.sqlite`) });
    await client.state(stageId, 'idle');
    expect((await results(kit, stageId)).at(-1)).toMatchObject({ isError: true });
  });
});

itAll('runs commands outside, and says why, where the project or the stage says so', async () => {
  const kit = await createKit();
  const { client } = kit;
  const outside = join(kit.folder, 'outside');
  const stageId = await kit.startStage(runs(`touch ${outside}`));
  const { requestId, leavesSandbox } = await client.event('approval-requested');
  expect(leavesSandbox).toBeNull();
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  await access(outside);
  expect(await isolationOf(kit, stageId)).toEqual({ level: 'noticed', reason: 'off-for-project', detail: null });
  const off = await kit.startStage(prompt({ steps: [{ text: 'Ready.' }] }), { sandbox: false });
  expect((await isolationOf(kit, off)).reason).toBe('off-for-stage');
});

it('shows on the board whether the sandbox works here, and starts a new project’s session without it where it does not', async () => {
  const kit = await createKit({ sandbox: true });
  const { client } = kit;
  const board = async () => (await client.command('get_board', {})).sandbox;
  await expect.poll(board).toMatchObject({ state: works ? 'works' : 'fails' });
  await kit.stop();
  // The same machine with a `bwrap` that the system allows nothing.
  const bin = join(kit.folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'bwrap'), '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n');
  await writeFile(join(bin, 'socat'), '#!/bin/sh\nexit 0\n');
  for (const name of ['bwrap', 'socat']) await chmod(join(bin, name), 0o755);
  kit.env.PATH = `${bin}:${kit.env.PATH}`;
  await kit.start();
  const why = 'A command in the sandbox does not start: bwrap: setting up uid map: Permission denied.';
  await expect
    .poll(async () => (await kit.client.command('get_board', {})).sandbox)
    .toMatchObject({ state: 'fails', why, how: expect.any(String) });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Ready.' }] }));
  await kit.client.state(stageId, 'idle');
  expect(await isolationOf(kit, stageId)).toEqual({ level: 'noticed', reason: 'unavailable', detail: why });
});
