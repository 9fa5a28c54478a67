import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { eventually, until } from '../../../../test-support/until.ts';
import { canIsolate } from '../../src/platform/bubblewrap.ts';
import { createKit } from '../support/kit.ts';

const hasSocat = await promisify(execFile)('socat', ['-V']).then(
  () => true,
  () => false,
);
const hasSandbox = (await canIsolate({ PATH: process.env.PATH ?? '' })).possible && hasSocat;
/** A command that starts later sees the placeholders of the one that has begun. */
const UNTIL_BEGUN = 'until [ -e begun ]; do sleep 0.1; done';
const bash = (command: string, more: object = {}) => ({
  tools: [{ name: 'Bash', input: { command, description: 'Try', ...more } }],
});

it.skipIf(!hasSandbox)('commits the project’s own files, and no placeholder of another command’s sandbox', async () => {
  const kit = await createKit({
    async before(repo) {
      await writeFile(join(repo, '.bashrc'), 'first\n');
      await git(repo, 'add', '--all');
      await git(repo, 'commit', '--quiet', '-m', 'A file of that name');
    },
  });
  const { client, projectId } = kit;
  await client.notices(({ sandbox }) => sandbox.state === 'works');
  await client.command('update_project', { projectId, settings: { sandbox: true, sandboxAutoAllow: true } });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Ready.' }] }));
  await client.state(stageId, 'idle', { withinMs: 30_000 });
  const { stage } = await client.command('get_stage', { stageId });
  const worktree = stage.worktree?.path ?? '';
  await writeFile(join(worktree, '.bashrc'), 'second\n');
  await writeFile(join(worktree, '.mcp.json'), '{}\n');

  const message = prompt({
    steps: [
      bash('echo begun > begun; until [ -e over ]; do sleep 0.1; done', { run_in_background: true }),
      bash(UNTIL_BEGUN),
      bash('stat -c %a:%s:%F .zshrc; git status --porcelain'),
      bash('rm begun; echo work > work.txt; git add -A && git commit -qm Work; touch over'),
      { text: 'Done.' },
    ],
  });
  await client.command('send_message', { stageId, message });
  const isDone = async () =>
    (await client.transcript(stageId)).some((entry) => entry.kind === 'text' && entry.text === 'Done.');
  await until('the turn is done', isDone, { withinMs: 60_000 }); // several commands in the sandbox
  const results = (await client.transcript(stageId)).flatMap((entry) =>
    entry.kind === 'tool-result' ? [entry.text] : [],
  );
  // The placeholder of the first command, as the second one sees it.
  expect(results[2]).toBe('444:0:regular empty file\n M .bashrc\n?? .mcp.json\n?? begun');
  expect((await git(worktree, 'show', '--name-only', '--format=', 'HEAD')).split('\n')).toEqual([
    '.bashrc',
    '.mcp.json',
    'work.txt',
  ]);

  // Whoever insists commits them: the stage says so, nothing is merged, and one command takes them out.
  const insisting = prompt({
    steps: [
      bash('rm over; echo begun > begun; until [ -e over ]; do sleep 0.1; done', { run_in_background: true }),
      bash(UNTIL_BEGUN),
      bash('git add -f .zshrc && git commit -qm Insists; touch over; rm begun'),
      { text: 'Insisted.' },
    ],
  });
  await client.command('send_message', { stageId, message: insisting });
  const notice = async () =>
    (await client.transcript(stageId)).find(
      (entry) => entry.kind === 'notice' && entry.code === 'placeholders-committed',
    );
  await until('the stage says so', async () => (await notice()) !== undefined, { withinMs: 60_000 }); // as above
  expect(await notice()).toMatchObject({ text: expect.stringContaining('1 file of the branch is only a placeholder') });
  // The end of the command in the background has woken Claude, who ends that turn as well.
  await eventually(async () => {
    const merging = client.command('complete_stage', { stageId, merge: true });
    await expect(merging).rejects.toMatchObject({ code: 'merge_refused' });
  });
  expect(await client.command('take_out_placeholders', { stageId })).toEqual({ files: ['.zshrc'] });
  expect((await git(worktree, 'ls-tree', '--name-only', 'HEAD')).split('\n')).not.toContain('.zshrc');
});

it.skipIf(!hasSandbox)('commits no placeholder of another command’s sandbox from outside of it either', async () => {
  const kit = await createKit();
  const { client, projectId } = kit;
  await client.notices(({ sandbox }) => sandbox.state === 'works');
  await client.command('update_project', { projectId, settings: { sandbox: true, sandboxAutoAllow: true } });
  const steps = [
    bash('echo begun > begun; until [ -e over ]; do sleep 0.1; done', { run_in_background: true }),
    bash(UNTIL_BEGUN),
    bash('rm begun; echo work > work.txt; git add -A && git commit -qm Work; ls -A; touch over', {
      dangerouslyDisableSandbox: true,
    }),
    { text: 'Done.' },
  ];
  const stageId = await kit.startStage(prompt({ steps }));
  const { requestId } = await client.event('approval-requested');
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  const entries = () => client.transcript(stageId);
  const isDone = async () => (await entries()).some((entry) => entry.kind === 'text' && entry.text === 'Done.');
  await until('the turn is done', isDone, { withinMs: 60_000 }); // several commands in the sandbox
  const results = (await entries()).flatMap((entry) => (entry.kind === 'tool-result' ? [entry.text] : []));
  expect(results[2]).toContain('.zshrc'); // it was there
  const { stage } = await client.command('get_stage', { stageId });
  const committed = await git(stage.worktree?.path ?? '', 'show', '--name-only', '--format=', 'HEAD');
  expect(committed).toBe('work.txt');
});
