import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SeenDiff } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { conversationFile, untilWritten } from '../support/conversation.ts';
import { createKit, type Kit } from '../support/kit.ts';

/** The recipes of docs/reports.md that Callboard failed, on the real CLI. */

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'Do it' } });

const said = (text: string) => prompt({ steps: [{ text }] });

/** A stage in which Claude ran the command, at the end of that turn. */
async function stageAfter(kit: Kit, command: string) {
  const { client } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [bash(command)] }, { text: 'Done.' }] }));
  const { requestId } = await client.event('approval-requested', (request) => request.stageId === stageId);
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  const path = (await client.command('get_stage', { stageId })).stage.worktree?.path ?? '';
  const plan = async () => (await client.command('get_completion', { stageId })).completion.plan;
  const complete = async (fields: SeenDiff & Record<string, unknown>) =>
    client.command('complete_stage', { stageId, merge: true, ...fields });
  return { stageId, path, plan, complete };
}

const INNER = 'git init -q web && echo hello > web/page.txt && git -C web add .';
const COMMIT = 'git -C web -c user.name=a -c user.email=a@b commit -qm inner';

it('merges no repository in the worktree as an empty folder, but names it and what to do', async () => {
  const kit = await createKit({ isEmulated: true });
  const committed = await stageAfter(kit, `${INNER} && ${COMMIT} && git add -A 2>/dev/null && git commit -qm outer`);
  const refusal = expect.stringMatching(/^Nothing was merged: web is a git repository of its own: .*only a pointer/);
  expect((await committed.plan())?.refusal).toEqual(refusal);
  await expect(committed.complete({})).rejects.toMatchObject({ code: 'merge_refused' });
  expect(existsSync(join(kit.repo, 'web'))).toBe(false);
  // With its files in place of the pointer, it is merged.
  await rm(join(committed.path, 'web', '.git'), { recursive: true });
  await git(committed.path, 'rm', '-q', '--cached', 'web');
  await git(committed.path, 'add', 'web');
  await git(committed.path, 'commit', '-q', '-m', 'The files');
  await committed.complete({});
  expect(await readFile(join(kit.repo, 'web', 'page.txt'), 'utf8')).toBe('hello\n');
});

it('commits no repository in the worktree as a pointer, also one without a commit', async () => {
  const kit = await createKit({ isEmulated: true });
  const open = await stageAfter(kit, `${INNER} && ${COMMIT}; git init -q empty; echo more > a.txt`);
  const plan = await open.plan();
  expect(plan?.refusal).toMatch(/web is a git repository of its own/);
  const order = { head: plan?.head, tree: plan?.tree, commit: { message: 'All of it' }, merge: false };
  await expect(open.complete(order)).rejects.toMatchObject({
    message: expect.stringContaining('web, empty are git repositories of their own'),
  });
  expect(await git(open.path, 'log', '--format=%s')).toBe('First commit');
});

it('commits the message of a person as it is written, whatever git is configured to drop', async () => {
  const before = (repo: string) => git(repo, 'config', 'commit.cleanup', 'strip').then(() => undefined);
  const kit = await createKit({ isEmulated: true, before });
  const { plan, complete } = await stageAfter(kit, 'echo work > a.txt');
  const { head, tree } = (await plan()) ?? {};
  await complete({ head, tree, commit: { message: '#12 Fix the login\n\n# Not a comment' } });
  expect(await git(kit.repo, 'log', '-1', '--format=%B', 'HEAD^2')).toBe('#12 Fix the login\n\n# Not a comment');
});

it('leaves a worktree in place that has another one of Claude in it, with work that only that one has', async () => {
  const before = async (repo: string) => {
    await writeFile(join(repo, '.gitignore'), '.claude/worktrees/\n');
    await git(repo, 'add', '.');
    await git(repo, 'commit', '--quiet', '-m', 'Ignore');
  };
  const kit = await createKit({ isEmulated: true, before });
  const { client } = kit;
  const inner = '.claude/worktrees/agent-1';
  const commit = 'echo c > c.txt && git add -A && git commit -qm c';
  const { stageId, path } = await stageAfter(
    kit,
    `git worktree add -q ${inner} --detach && cd ${inner} && ${commit} && echo more > more.txt`,
  );
  await client.command('stop_stage', { stageId });
  const left = async () => (await client.command('get_removal', { stageId })).removal.left;
  expect(await left()).toContain(`the worktree ${inner} in it has uncommitted changes`);
  await rm(join(path, inner, 'more.txt'));
  expect(await left()).toContain(`the worktree ${inner} in it has commits that are on no branch`);
  await client.command('complete_stage', { stageId });
  const place = { projectId: 'shop', name: stageId };
  await expect(client.command('clean_worktree', place)).rejects.toThrow('commits that are on no branch');
  await git(join(path, inner), 'switch', '--quiet', '-c', 'agent-1');
  expect(await left()).toBeNull();
  await client.command('remove_stage', { stageId });
  expect(existsSync(path)).toBe(false);
  expect(await git(kit.repo, 'log', '-1', '--format=%s', 'agent-1')).toBe('c');
});

it('says that Claude was resumed without a part of its conversation, once, and whether the record had been there', async () => {
  const kit = await createKit();
  const { client, model } = kit;
  const stageId = await kit.startStage(said('First.'));
  await client.state(stageId, 'idle');
  const heard = () => JSON.stringify(model.requests.at(-1)?.messages);
  const notices = async () =>
    (await client.transcript(stageId)).flatMap((entry) =>
      entry.kind === 'notice' && entry.code.startsWith('conversation-') ? [entry.text] : [],
    );
  const notify = async (text: string) => {
    await client.command('send_message', { stageId, message: said(text) });
    await untilWritten(kit, stageId, `"${text}"`);
    await client.state(stageId, 'idle');
    await client.command('stop_stage', { stageId });
  };
  await notify('Second.');
  await notify('Third.');
  expect(await notices()).toEqual([]);

  const file = await conversationFile(kit, stageId);
  const text = await readFile(file, 'utf8');
  const broken = text.split('\n').map((line) => (line.includes('"Second."') ? line.slice(0, 80) : line));
  await writeFile(file, broken.join('\n'));
  await notify('Fourth.');
  expect(heard()).not.toContain('"Second."');
  expect(await notices()).toEqual([expect.stringMatching(/record .* shorter .* and has 1 line that is cut off\./)]);
  await notify('Fifth.');
  expect(await notices()).toHaveLength(1);

  const whole = await readFile(file, 'utf8');
  await writeFile(file, whole.slice(0, whole.lastIndexOf('\n', whole.indexOf('"Fourth."')) + 1));
  await notify('Sixth.');
  expect(heard()).not.toContain('"Fourth."');
  expect(await notices()).toEqual([expect.anything(), expect.stringContaining('bytes shorter than')]);

  await rm(file);
  await client.command('send_message', { stageId, message: said('Seventh.') });
  await client.state(stageId, 'failed');
  expect((await notices()).at(-1)).toContain('no longer has its record of this conversation');
  expect((await client.command('get_queue', { stageId })).queue).toHaveLength(2);
});

it('keeps a process in which Claude planned to wake up, and says what is lost with it', async () => {
  const kit = await createKit();
  const { client } = kit;
  const wakeUp = { name: 'ScheduleWakeup', input: { delaySeconds: 600, reason: 'look at CI', prompt: 'Look again.' } };
  const cron = { name: 'CronCreate', input: { cron: '0 3 * * *', prompt: 'check the build', recurring: true } };
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [wakeUp, cron] }, { text: 'Later.' }] }));
  await client.state(stageId, 'idle');
  await kit.endIdle();
  expect((await client.command('get_session', { stageId })).session.state).toBe('idle');
  await client.command('stop_stage', { stageId });
  expect(await client.transcript(stageId)).toContainEqual(
    expect.objectContaining({
      code: 'wake-ups-lost',
      text: expect.stringMatching(/"look at CI" \(at .*\), "check the build" \(again and again\)/),
    }),
  );
});
