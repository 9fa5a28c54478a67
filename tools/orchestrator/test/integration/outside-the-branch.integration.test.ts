import { access, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { until } from '../../../../test-support/until.ts';
import { createKit, type Kit } from '../support/kit.ts';

const stageOf = async (kit: Kit, stageId: string) => (await kit.client.command('get_stage', { stageId })).stage;
const worktreeOf = async (kit: Kit, stageId: string) => {
  const { worktree } = await stageOf(kit, stageId);
  if (worktree === null) throw new Error('it has no worktree');
  return worktree;
};
const notices = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'notice' ? [entry.text] : []));

/** A stage in which Claude has run one command, and its idle session. */
async function ran(kit: Kit, command: string): Promise<string> {
  const bash = { name: 'Bash', input: { command, description: 'Work' } };
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [bash] }, { text: 'Done.' }] }), { title: 'Login' });
  const { requestId } = await kit.client.event('approval-requested');
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await kit.client.state(stageId, 'idle');
  return stageId;
}

const COMMIT = 'echo work > a.txt && git add a.txt && git -c user.name=C -c user.email=c@x commit -qm Work';

it('names what Claude committed on a detached HEAD before the stage is deleted, and keeps it in the trash', async () => {
  const kit = await createKit({ isEmulated: true });
  const { client, repo } = kit;
  const stageId = await ran(kit, `git checkout -q --detach && ${COMMIT}`);
  const { path } = await worktreeOf(kit, stageId);
  const head = await git(path, 'rev-parse', 'HEAD');
  await client.command('stop_stage', { stageId });
  const { removal } = await client.command('get_removal', { stageId });
  expect(removal).toMatchObject({ left: null, loose: { branch: null, commits: 1 } });
  const { kept, left } = await client.command('remove_stage', { stageId });
  expect(left).toBeNull();
  expect(kept).toMatchObject({ stageId, by: 'Ada', work: { branch: null, unmerged: 1, uncommitted: 0 } });
  await git(repo, '-c', 'gc.reflogExpire=now', 'gc', '--quiet', '--prune=now');
  expect(await git(repo, 'cat-file', '-t', head)).toBe('commit');
  const restored = await client.command('restore_trash', { trashId: kept?.id });
  expect(await readFile(join(restored.folder, 'a.txt'), 'utf8')).toBe('work\n');
  expect(await git(repo, 'rev-parse', restored.branch ?? '')).toBe(head);
});

it('refuses to finish a stage whose work is on another branch, and takes that as its branch', async () => {
  const kit = await createKit({ isEmulated: true });
  const { client, repo } = kit;
  const stageId = await ran(kit, `git switch -q -c other && ${COMMIT}`);
  const check = async () => (await client.command('get_completion', { stageId })).completion.plan;
  const plan = await check();
  expect(plan).toMatchObject({ uncommitted: [], uncommittedCount: 0, elsewhere: { branch: 'other', commits: 1 } });
  expect(plan?.refusal).toMatch(/on the branch other, not on .*callboard\/STAGE-1, with 1 commit/);
  await expect(client.command('complete_stage', { stageId, merge: true })).rejects.toMatchObject({
    code: 'branch_left',
    message: expect.stringContaining("Take it as the stage's branch, or go back to callboard/STAGE-1"),
  });
  const moved = client.command('take_branch', { stageId, head: '0'.repeat(40) });
  await expect(moved).rejects.toMatchObject({ code: 'head_moved' });
  const { stage } = await client.command('take_branch', { stageId, head: plan?.elsewhere?.head });
  expect(stage.worktree?.branch).toBe('other');
  expect(await check()).toMatchObject({ branch: 'other', commits: 1, elsewhere: null, refusal: null });
  await client.command('complete_stage', { stageId, merge: true });
  expect(await readFile(join(repo, 'a.txt'), 'utf8')).toBe('work\n');
  expect(await notices(kit, stageId)).toContainEqual(expect.stringContaining("Ada took other as the stage's branch"));
});

it('goes back from a rebase that Claude left half done, and keeps what it had', async () => {
  const kit = await createKit({ isEmulated: true });
  const { client, repo } = kit;
  const stageId = await ran(kit, COMMIT);
  const { path, branch } = await worktreeOf(kit, stageId);
  await writeFile(join(repo, 'a.txt'), 'main\n');
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '-m', 'Main');
  await git(path, 'rebase', 'main').catch(() => undefined);
  await writeFile(join(path, 'a.txt'), 'half resolved\n');
  await expect(client.command('complete_stage', { stageId, merge: true })).rejects.toMatchObject({
    code: 'branch_left',
    message: expect.stringMatching(/A rebase is half done .* what is there now is kept in the trash/),
  });
  await expect(client.command('take_branch', { stageId })).rejects.toMatchObject({ code: 'branch_left' });
  await client.command('go_back_to_branch', { stageId });
  expect(await git(path, 'symbolic-ref', '--short', 'HEAD')).toBe(branch);
  expect(await git(path, 'status', '--porcelain')).toBe('');
  const [entry] = (await client.command('get_trash')).entries;
  expect(entry).toMatchObject({ stageId, work: { branch: null } });
  expect(await git(repo, 'show', `${entry?.work?.commit}:a.txt`)).toBe('half resolved');
});

it('runs nothing where a worktree was replaced, says what stands there, and makes it again', async () => {
  const kit = await createKit({ isEmulated: true });
  const { client, repo, folder } = kit;
  await client.command('update_project', {
    projectId: 'shop',
    settings: { editor: 'touch', devServers: { web: { command: 'touch served' } } },
  });
  const stageId = await ran(kit, `${COMMIT} && echo open > open.txt`);
  const recorded = () => git(repo, 'for-each-ref', `refs/callboard/turns/${stageId}`);
  await until('the files are recorded after the turn', async () => (await recorded()) !== '');
  await client.command('stop_stage', { stageId });
  const { path } = await worktreeOf(kit, stageId);
  await rename(path, join(folder, 'away'));
  await symlink(repo, path);
  const message = prompt({ steps: [{ text: 'Second.' }] });
  const requests = kit.model.requests.length;
  await client.command('send_message', { stageId, message });
  await client.state(stageId, 'failed');
  const failed = await stageOf(kit, stageId);
  expect(failed).toMatchObject({ column: 'needs-you', session: { lastTurn: { code: 'worktree-replaced' } } });
  expect(failed.session?.lastTurn?.message).toMatch(
    /is a symbolic link to .*shop.*Nothing was run\. Make the worktree again: from callboard\/STAGE-1 at .*\(open\.txt\)/,
  );
  expect(kit.model.requests).toHaveLength(requests);
  const refused = { code: 'worktree_replaced', message: expect.stringContaining('is a symbolic link') };
  await expect(client.command('start_server', { stageId, name: 'web' })).rejects.toMatchObject(refused);
  await expect(client.command('get_diff', { stageId })).rejects.toMatchObject(refused);
  await expect(client.command('start_stage', { stageId })).rejects.toMatchObject(refused);
  await expect(access(join(repo, 'served'))).rejects.toThrow();
  await client.command('remake_worktree', { stageId });
  expect((await stageOf(kit, stageId)).session?.lastTurn?.code).toBeNull();
  expect(await git(path, 'status', '--porcelain')).toBe('?? open.txt');
  expect(await notices(kit, stageId)).toContainEqual(expect.stringMatching(/Ada had the worktree made again.*Lost is/));
  await client.command('start_stage', { stageId });
  await expect
    .poll(async () => (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : [])))
    .toContain('Second.');
});

it('does not start Claude in a worktree that is gone, and does after a clean-up', async () => {
  const kit = await createKit({ isEmulated: true });
  const { client, repo } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.' }] }));
  await client.state(stageId, 'idle');
  await client.command('complete_stage', { stageId });
  const { path } = await worktreeOf(kit, stageId);
  await client.command('clean_worktree', { projectId: 'shop', name: 'STAGE-1' });
  expect((await worktreeOf(kit, stageId)).isCleanedUp).toBe(true);
  await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Second.' }] }) });
  await client.state(stageId, 'idle');
  expect((await worktreeOf(kit, stageId)).isCleanedUp).toBeUndefined();
  await client.command('stop_stage', { stageId });
  await rm(path, { recursive: true });
  await git(repo, 'worktree', 'prune');
  await expect(client.command('start_stage', { stageId })).rejects.toMatchObject({
    code: 'worktree_replaced',
    message: expect.stringContaining(`There is no worktree at ${path}`),
  });
  await client.command('remake_worktree', { stageId });
  await client.command('start_stage', { stageId });
  await client.state(stageId, 'idle');
});

it('gives an idle process nothing to do in a folder that is not its worktree', async () => {
  const kit = await createKit({ isEmulated: true });
  const { client, folder } = kit;
  const stageId = await ran(kit, COMMIT);
  const { path } = await worktreeOf(kit, stageId);
  await rename(path, join(folder, 'away'));
  await mkdir(path);
  const bash = { name: 'Bash', input: { command: 'touch made', description: 'Make' } };
  await client.command('send_message', {
    stageId,
    message: prompt({ steps: [{ tools: [bash] }, { text: 'Second.' }] }),
  });
  await client.state(stageId, 'failed');
  const { session } = await stageOf(kit, stageId);
  expect(session).toMatchObject({ queued: 1, lastTurn: { code: 'worktree-replaced' } });
  expect(session?.lastTurn?.message).toContain('is an empty folder');
  await expect(access(join(path, 'made'))).rejects.toThrow();
  await client.command('remake_worktree', { stageId });
  await client.command('start_stage', { stageId });
  const pending = async () => (await client.command('get_pending', { stageId })).pending;
  await until('Claude asks again', async () => (await pending()).length > 0);
  const requestId = (await pending())[0]?.requestId;
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  await access(join(path, 'made'));
});

it.each([
  ['a message that waits in the queue', false],
  ['the next phase', true],
] as const)('gives a living process not even %s in a folder that is not its worktree', async (_what, isPhase) => {
  const kit = await createKit();
  const { client, folder, model } = kit;
  const bash = { name: 'Bash', input: { command: 'touch made', description: 'Make' } };
  const message = prompt({ steps: [{ tools: [bash] }, { text: 'Second.' }] });
  const first = prompt({ steps: [{ text: 'First.', gate: 'go' }] });
  const pipeline = [
    { name: 'Build', prompt: first, gate: 'none' },
    { name: 'Test', prompt: message },
  ];
  const stageId = await kit.startStage(first, isPhase ? { pipeline } : {});
  await until('Claude works', () => model.requests.length > 0);
  if (!isPhase) await client.command('send_message', { stageId, message });
  const { path } = await worktreeOf(kit, stageId);
  await rename(path, join(folder, 'away'));
  await mkdir(path);
  model.release('go');
  await client.state(stageId, 'failed');
  const { column, session } = await stageOf(kit, stageId);
  expect({ column, session }).toMatchObject({
    column: 'needs-you',
    session: { queued: 1, queueHeld: true, lastTurn: { outcome: 'failed', code: 'worktree-replaced' } },
  });
  expect(session?.lastTurn?.message).toMatch(/is an empty folder.* Nothing was run\. Make the worktree again: from/);
  expect((await notices(kit, stageId)).filter((text) => text.includes('is an empty folder'))).toHaveLength(1);
  await expect(access(join(path, 'made'))).rejects.toThrow();
  await client.command('remake_worktree', { stageId });
  await client.command('start_stage', { stageId });
  const pending = async () => (await client.command('get_pending', { stageId })).pending;
  await until('Claude asks', async () => (await pending()).length > 0);
  const requestId = (await pending())[0]?.requestId;
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  await access(join(path, 'made'));
});
