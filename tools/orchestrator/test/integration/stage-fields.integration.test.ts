import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { commitAll, git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { findMarkedProcesses } from '../../src/platform/process-table.ts';
import { createKit, type Kit } from '../support/kit.ts';

const SAID = prompt({ steps: [{ text: 'Done.' }] });

/** The command line of the process that runs the stage's session. */
async function commandLine({ client }: Kit, stageId: string): Promise<string[]> {
  const { launchId } = (await client.command('get_session', { stageId })).session;
  const pids = (await findMarkedProcesses()).get(launchId ?? '') ?? [];
  const lines = await Promise.all(
    pids.map(async (pid) => (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')),
  );
  return lines.find((args) => args.includes('--permission-mode')) ?? [];
}

it('starts with the effort, base and branch of the stage, and keeps an effort that is chosen later', async () => {
  const kit = await createKit({ isEmulated: true });
  const { client, repo } = kit;
  const first = await git(repo, 'rev-parse', 'HEAD');
  await git(repo, 'branch', 'develop');
  await writeFile(join(repo, 'later.txt'), 'later\n');
  await commitAll(repo);
  const fields = { effort: 'low', base: 'develop', branch: 'feature/login', group: 'accounts' };
  const stageId = await kit.startStage(SAID, fields);
  await client.state(stageId, 'idle');
  const { stage } = await client.command('get_stage', { stageId });
  expect(stage).toMatchObject({ ...fields, worktree: { branch: 'feature/login', base: first } });
  expect(stage.session).toMatchObject({ effort: 'low' });
  const args = await commandLine(kit, stageId);
  expect(args[args.indexOf('--effort') + 1]).toBe('low');

  await client.command('set_model', { stageId, effort: 'high' });
  expect((await client.command('get_stage', { stageId })).stage).toMatchObject({ effort: 'high' });
  await client.command('update_stage', { stageId, patch: { group: null, title: 'Renamed' } });
  for (const patch of [{ effort: 'max' }, { base: 'main' }, { branch: 'other' }] as const)
    await expect(client.command('update_stage', { stageId, patch })).rejects.toMatchObject({ code: 'stage_running' });
});

it('refuses a base that is missing, and a branch that is taken or that another stage is to create', async () => {
  const { client } = await createKit({ isEmulated: true });
  const create = (title: string, fields: object) =>
    client.command('create_stage', { projectId: 'shop', title, prompt: 'Do it.', ...fields });
  await expect(create('A', { base: 'nowhere' })).rejects.toMatchObject({
    code: 'unknown_base',
    message: expect.stringContaining('nowhere'),
  });
  await expect(create('A', { branch: 'a b' })).rejects.toMatchObject({ code: 'bad_branch' });
  await expect(create('A', { branch: 'main' })).rejects.toMatchObject({ code: 'branch_taken' });
  const { stage } = await create('First', { branch: 'feature/x' });
  await expect(create('B', { branch: 'feature/x' })).rejects.toMatchObject({
    code: 'branch_taken',
    message: expect.stringContaining('First'),
  });
  const { stage: own } = await create('C', {});
  const rename = client.command('update_stage', { stageId: own.id, patch: { branch: 'feature/x' } });
  await expect(rename).rejects.toMatchObject({ code: 'branch_taken' });
  await client.command('update_stage', { stageId: stage.id, patch: { branch: 'feature/x', effort: 'max' } });
});

itAll('imports effort, base, branch and group, and names the file that git would refuse', async () => {
  const { client, repo } = await createKit({ isEmulated: true });
  const folder = join(repo, 'stages');
  await mkdir(folder);
  const write = (name: string, more: string) =>
    writeFile(join(folder, name), `---\nid: ${name.replace('.md', '')}\ntitle: T\n${more}\n---\nDo it.\n`);
  await write('S-1.md', 'effort: high\nbase: main\nbranch: feature/one\ngroup: first');
  const { stages } = await client.command('import_stages', { projectId: 'shop', path: 'stages' });
  expect(stages[0]).toMatchObject({ effort: 'high', base: 'main', branch: 'feature/one', group: 'first' });
  await write('S-2.md', 'base: nowhere');
  await write('S-3.md', 'branch: feature/one');
  await expect(client.command('import_stages', { projectId: 'shop', path: 'stages' })).rejects.toMatchObject({
    code: 'import_failed',
    message: expect.stringMatching(/S-2\.md: .*nowhere[\s\S]*S-3\.md: its branch feature\/one/),
  });
});

itAll('lists branches and files of a project before anything was started', async () => {
  const { client } = await createKit({ isEmulated: true });
  expect(await client.command('get_branches', { projectId: 'shop' })).toEqual({ current: 'main', branches: ['main'] });
  expect(await client.command('suggest_project_files', { projectId: 'shop', query: 'read' })).toEqual({
    files: ['README.md'],
  });
  await expect(client.command('get_branches', { projectId: 'nowhere' })).rejects.toMatchObject({
    code: 'unknown_project',
  });
});

itAll('runs the prompt as a command only if a person chose that', async () => {
  const { client, startStage } = await createKit();
  const asked = await startStage('/context', { promptIsCommand: true });
  await client.state(asked, 'idle');
  const said = JSON.stringify(await client.transcript(asked));
  expect(said).toContain('Context Usage');
});
