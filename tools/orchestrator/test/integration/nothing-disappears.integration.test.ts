import { access, chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MessageId } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { createKit, type Kit } from '../support/kit.ts';

const said = (text: string) => prompt({ steps: [{ text }] });

const texts = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));

const columnOf = async ({ client }: Kit, stageId: string) =>
  (await client.command('get_stage', { stageId })).stage.column;

/** Creates a completed stage with work in it. */
async function doneStage(kit: Kit, merge = false): Promise<string> {
  const { client } = kit;
  const stageId = await kit.startStage(said('First.'));
  await client.state(stageId, 'idle');
  await client.command('complete_stage', { stageId, merge });
  expect(await columnOf(kit, stageId)).toBe('done');
  return stageId;
}

it('keeps the ignored files of a deleted stage and its decisions, and says so', async () => {
  const kit = await createKit();
  const { client, repo } = kit;
  await writeFile(join(repo, '.gitignore'), 'notes/\nnode_modules/\n.env\n');
  await writeFile(join(repo, '.env'), 'KEY=1');
  await git(repo, 'add', '.gitignore');
  await git(repo, 'commit', '--quiet', '-m', 'Ignore');
  await client.command('update_project', { projectId: 'shop', settings: { copyIgnored: ['.env'] } });
  const bash = { name: 'Bash', input: { command: 'mkdir notes && echo plan > notes/plan.md', description: 'Plan' } };
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [bash] }, { text: 'Planned.' }] }), {
    title: 'Plan it',
  });
  const { requestId } = await client.event('approval-requested');
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  await client.command('stop_stage', { stageId });
  const { worktree } = (await client.command('get_stage', { stageId })).stage;
  const path = worktree?.path ?? '';
  await mkdir(join(path, 'node_modules'));
  await writeFile(join(path, 'node_modules', 'a.js'), 'x');

  const { removal } = await client.command('get_removal', { stageId });
  expect(removal).toMatchObject({
    worktree: path,
    left: null,
    files: [{ path: 'notes/plan.md', bytes: 5 }],
    buildFolders: [{ path: 'node_modules', bytes: 1 }],
  });
  const { kept, deleted, left } = await client.command('remove_stage', { stageId, buildFolders: 'delete' });
  expect({ left, deleted }).toEqual({ left: null, deleted: removal.buildFolders });
  expect(kept).toMatchObject({ stageId, stageTitle: 'Plan it', by: 'Ada', files: removal.files });
  await expect(access(path)).rejects.toThrow();

  const { decisions } = await client.command('get_decisions');
  const decision = { stageId, requestId, outcome: 'allowed', by: 'Ada' };
  expect(decisions).toMatchObject([{ ...decision, stageTitle: 'Plan it', projectId: 'shop', isStageDeleted: true }]);
  expect((await client.command('get_decisions', { projectId: 'shop' })).decisions).toHaveLength(1);
  await kit.stop();
  await kit.start();

  const [entry] = (await kit.client.command('get_trash')).entries;
  expect(entry).toEqual(kept);
  const restored = await kit.client.command('restore_trash', { trashId: entry?.id, folder: join(kit.folder, 'back') });
  expect(restored).toMatchObject({ folder: join(kit.folder, 'back'), fileCount: 1 });
  expect(await readFile(join(kit.folder, 'back', 'notes', 'plan.md'), 'utf8')).toBe('plan\n');
});

it('shows each decision with the current title of its stage', async () => {
  const { client, startStage } = await createKit({ isEmulated: true });
  const bash = { name: 'Bash', input: { command: 'touch a', description: 'Do it' } };
  const stageId = await startStage(prompt({ steps: [{ tools: [bash] }] }));
  const { requestId } = await client.event('approval-requested');
  await client.command('approve_tool', { stageId, requestId, decision: 'deny' });
  await client.command('update_stage', { stageId, patch: { title: 'Renamed' } });
  const { decisions } = await client.command('get_decisions');
  expect(decisions).toMatchObject([{ stageTitle: 'Renamed', projectId: 'shop', isStageDeleted: false }]);
});

it('reopens a done stage without a message, once', async () => {
  const kit = await createKit();
  const { client } = kit;
  const stageId = await doneStage(kit);
  const { stage } = await client.command('reopen_stage', { stageId });
  expect(stage).toMatchObject({ column: 'review', completedAt: null });
  await expect(client.command('reopen_stage', { stageId })).rejects.toMatchObject({ code: 'not_done' });
  const reopened = (await client.transcript(stageId)).find((e) => e.kind === 'notice' && e.code === 'reopened');
  expect(reopened).toMatchObject({ text: 'Reopened by Ada.' });
  await client.command('complete_stage', { stageId });
  expect(await columnOf(kit, stageId)).toBe('done');
});

it('reopens a done stage for a message, which Claude gets in the same conversation', async () => {
  const kit = await createKit();
  const { client, model } = kit;
  const stageId = await doneStage(kit);
  const reply = await client.command('send_message', { stageId, message: said('Second.') });
  expect(reply).toMatchObject({ status: 'resumed', reopened: true });
  await expect.poll(() => texts(kit, stageId)).toEqual(['First.', 'Second.']);
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('First.');
  await client.state(stageId, 'idle');
  expect(await columnOf(kit, stageId)).toBe('review');
});

it('makes the worktree of a merged stage again for a person; if the branch is gone, from the current commit', async () => {
  const kit = await createKit();
  const { client, repo } = kit;
  const stageId = await doneStage(kit, true);
  const { worktree } = (await client.command('get_stage', { stageId })).stage;
  await git(repo, 'worktree', 'remove', worktree?.path ?? '');
  await git(repo, 'branch', '-D', worktree?.branch ?? '');
  await writeFile(join(repo, 'later.txt'), 'x');
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '-m', 'Later');
  await client.command('send_message', { stageId, message: said('Second.') });
  await client.state(stageId, 'failed');
  const { session } = (await client.command('get_stage', { stageId })).stage;
  expect(session?.lastTurn).toMatchObject({
    code: 'worktree-replaced',
    message: expect.stringMatching(/no worktree at .* is gone, too/),
  });
  await client.command('remake_worktree', { stageId });
  await client.command('start_stage', { stageId });
  await expect.poll(() => texts(kit, stageId)).toEqual(['First.', 'Second.']);
  const again = (await client.command('get_stage', { stageId })).stage.worktree;
  expect(again).toEqual({ ...worktree, base: await git(repo, 'rev-parse', 'HEAD') });
  await access(join(again?.path ?? '', 'later.txt'));
  const notice = (await client.transcript(stageId)).find((e) => e.kind === 'notice' && e.code === 'worktree');
  expect(notice).toMatchObject({ text: expect.stringMatching(/Ada had the worktree made again.*current commit/) });
});

it('refuses a message that would resume a session while claude is missing, and loses none of its text', async () => {
  const kit = await createKit();
  const { client, folder, config } = kit;
  const program = join(folder, 'claude');
  await writeFile(program, `#!/bin/sh\nexec '${config.claudePath}' "$@"\n`);
  await chmod(program, 0o755);
  await kit.stop();
  Object.assign(config, { claudePath: program });
  await kit.start();
  const stageId = await doneStage(kit);
  await rename(program, `${program}-gone`);
  const message = said('Second.');
  await expect(kit.client.command('send_message', { stageId, message })).rejects.toMatchObject({
    code: 'claude_missing',
  });
  expect(client).toBeDefined();
  const { session } = await kit.client.command('get_session', { stageId });
  expect(session).toMatchObject({ state: 'ended', queue: [] });
  expect(await columnOf(kit, stageId)).toBe('done');
  await rename(`${program}-gone`, program);
  await kit.client.command('send_message', { stageId, message });
  await expect.poll(() => texts(kit, stageId)).toEqual(['First.', 'Second.']);
});

it('accepts a repeated message with the same id, and refuses a different message with that id', async () => {
  const kit = await createKit();
  const { client, model } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.', gate: 'go' }] }));
  await model.waitForRequest(({ kind }) => kind === 'script');
  const messageId = MessageId.parse(crypto.randomUUID());
  const send = (message: string) => client.command('send_message', { stageId, message, messageId });
  expect(await send('one')).toEqual({ status: 'queued', messageId });
  expect(await send('one')).toEqual({ status: 'queued', messageId });
  await expect(send('two')).rejects.toMatchObject({ code: 'message_id_reused' });
  await client.command('edit_queued', { stageId, messageId, patch: { message: 'edited' } });
  expect(await send('one')).toEqual({ status: 'queued', messageId });
  model.release('go');
  await client.event('message-sent', (sent) => sent.messageId === messageId);
  await expect(send('two')).rejects.toMatchObject({ code: 'message_id_reused' });
  expect(await send('one')).toEqual({ status: 'sent', messageId });
  await client.state(stageId, 'idle');
  const written = (await client.transcript(stageId)).flatMap((e) => (e.kind === 'user' ? e.text : []));
  expect(written.slice(1)).toEqual(['edited']);
});

it('shows a text with invalid characters as Claude gets it', async () => {
  const kit = await createKit();
  const { client, model } = kit;
  const stageId = await kit.startStage(said('First.'));
  await client.state(stageId, 'idle');
  await client.command('send_message', { stageId, message: `odd \ud800 text ${said('Second.')}` });
  await expect.poll(() => texts(kit, stageId)).toEqual(['First.', 'Second.']);
  const written = (await client.transcript(stageId)).flatMap((e) => (e.kind === 'user' ? e.text : []));
  expect(written.at(-1)).toContain('odd \ufffd text');
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('odd \ufffd text');
});

it('names the parts of an import that it ignores, and refuses aliases that expand too far', async () => {
  const { client, repo } = await createKit({ isEmulated: true });
  const file = join(repo, 'stages', '1.md');
  await mkdir(join(repo, 'stages'));
  await writeFile(file, '---\nid: STAGE-7\ntitle: A\nlabels: [Build]\n---\nBody\n');
  const done = await client.command('import_stages', { projectId: 'shop', path: 'stages' });
  expect(done.ignored).toEqual([{ file, keys: ['labels'] }]);
  const lines = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
  for (const [n, name] of ['b', 'c', 'd', 'e', 'f'].entries()) {
    const above = String.fromCharCode(97 + n);
    lines.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${above}`).join(', ')}]`);
  }
  await writeFile(file, `---\nid: STAGE-7\ntitle: A\n${lines.join('\n')}\n---\nBody\n`);
  const bomb = client.command('import_stages', { projectId: 'shop', path: 'stages' });
  await expect(bomb).rejects.toMatchObject({ code: 'import_failed', message: expect.stringContaining('1.md') });
  await rm(file);
});

it.each([['../**'], ['/etc/hostname'], ['a/../../b']])(
  'refuses to copy %s into worktrees, and says why',
  async (glob) => {
    const { client } = await createKit({ isEmulated: true });
    const settings = { copyIgnored: [glob] };
    const refusal = { code: 'bad_request', message: expect.stringContaining('stay inside it') };
    await expect(client.command('update_project', { projectId: 'shop', settings })).rejects.toMatchObject(refusal);
  },
);

it('does not accept a plan into the mode that it ends', async () => {
  const { client, startStage } = await createKit();
  const plan = { name: 'ExitPlanMode', input: { plan: '# Plan\n\nDo it.' } };
  const stageId = await startStage(prompt({ steps: [{ tools: [plan] }, { text: 'Done.' }] }), {
    permissionMode: 'plan',
  });
  const { requestId } = await client.event('plan-requested');
  const updatedPermissions = [{ type: 'setMode', mode: 'plan', destination: 'session' }];
  const accept = client.command('approve_tool', { stageId, requestId, decision: 'allow', updatedPermissions });
  await expect(accept).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('ends plan mode'),
  });
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
});
