import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createRepository, git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { createKit } from '../support/kit.ts';

const said = (text: string) => prompt({ steps: [{ text }] });

it('runs the phases of a pipeline with its name, each in its mode and its conversation, and stops at gates', async () => {
  const { client, model } = await createKit();
  const marked = (text: string) => `${said(text)} {{previous.result}}`;
  const phases = [
    { name: 'Design', prompt: said('Designed.'), permissionMode: 'plan', gate: 'human' },
    { name: 'Build', prompt: said('Built.'), permissionMode: 'acceptEdits' },
    { name: 'Check', prompt: marked('Checked.'), conversation: 'fresh', gate: 'human' },
    { name: 'Finish', prompt: marked('Finished.'), conversation: 'fresh' },
  ];
  await client.command('update_project', { projectId: 'shop', settings: { pipelines: { Careful: { phases } } } });
  const order = { projectId: 'shop', title: 'A', prompt: 'The task.' };
  await expect(client.command('create_stage', { ...order, pipeline: 'Carefull' })).rejects.toMatchObject({
    code: 'unknown_pipeline',
    message: expect.stringContaining('There are "Careful", "Just do it"'),
  });
  const { stage } = await client.command('create_stage', { ...order, pipeline: 'careful' });
  const stageId = stage.id;
  await client.command('start_stage', { stageId });
  await client.event('session-updated', ({ atGate }) => atGate);
  expect((await client.command('get_stage', { stageId })).stage.column).toBe('needs-you');
  await expect(client.command('advance_stage', { stageId: 'STAGE-99' })).rejects.toMatchObject({
    code: 'unknown_stage',
  });
  await client.command('advance_stage', { stageId });
  await client.event('session-updated', ({ phaseIndex, atGate }) => phaseIndex === 2 && atGate);
  // The last phase begins its conversation in a process of its own.
  await client.command('stop_stage', { stageId });
  await client.state(stageId, 'ended');
  await client.command('advance_stage', { stageId });
  await client.event('session-updated', ({ phaseIndex, state }) => phaseIndex === 3 && state === 'idle');
  const view = (await client.command('get_stage', { stageId })).stage;
  expect(view).toMatchObject({ column: 'review', session: { mode: 'acceptEdits', phaseIndex: 3, atGate: false } });
  const texts = (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));
  expect(texts).toEqual(['Designed.', 'Built.', 'Checked.', 'Finished.']);
  // What Claude was told before each reply: all before it, or in a new conversation only what the prompt says.
  const reported = model.requests
    .filter(({ kind }) => kind === 'script')
    .map(({ messages }) => JSON.stringify(messages));
  const known = reported.map((text) => ['Designed.', 'Built.', 'Checked.'].filter((said) => text.includes(said)));
  expect(known).toEqual([[], ['Designed.'], ['Built.'], ['Checked.']]);
  await expect(client.command('advance_stage', { stageId })).rejects.toMatchObject({ code: 'not_at_gate' });
});

it('starts eligible stages automatically, in order of priority and dependencies, within the limit', async () => {
  const { client, model } = await createKit({ maxParallel: 1 });
  const make = (title: string, fields: object) =>
    client.command('create_stage', {
      projectId: 'shop',
      title,
      prompt: prompt({ steps: [{ text: title, gate: title }] }),
      ...fields,
    });
  const first = (await make('first', { autoStart: true })).stage;
  await client.state(first.id, 'busy');
  const low = (await make('low', { autoStart: true, priority: 5 })).stage;
  const high = (await make('high', { autoStart: true, priority: 0 })).stage;
  const later = (await make('later', { autoStart: true, priority: 0, dependsOn: [high.id] })).stage;
  const never = (await make('never', {})).stage;
  expect((await client.command('get_stage', { stageId: later.id })).stage.column).toBe('backlog');
  await expect(client.command('start_stage', { stageId: later.id })).rejects.toMatchObject({
    code: 'waits_for_dependency',
  });
  model.release('first');
  await client.state(high.id, 'busy');
  model.release('high');
  await client.state(low.id, 'busy');
  model.release('low');
  await client.state(low.id, 'idle');
  await client.command('complete_stage', { stageId: high.id });
  await client.state(later.id, 'busy');
  model.release('later');
  await client.state(later.id, 'idle');
  expect((await client.command('get_stage', { stageId: never.id })).stage).toMatchObject({
    column: 'ready',
    session: null,
  });
});

itAll(
  'imports stages from Markdown files, repeats it without duplicates, and refuses a folder with errors as a whole',
  async () => {
    const { client, repo } = await createKit();
    const folder = join(repo, 'stages');
    await mkdir(join(folder, 'epic'), { recursive: true });
    const write = (name: string, text: string) => writeFile(join(folder, name), text);
    await write('README.md', '# No frontmatter, no stage\n');
    await write('1.md', '---\nid: STAGE-001-001-001\ntitle: Schema\nstatus: Complete\n---\nMake the schema.\n');
    await write(
      'epic/2.md',
      '---\nid: STAGE-001-001-002\ntitle: API\ndepends_on: [STAGE-001-001-001]\npriority: 1\n---\nMake the API.\n',
    );
    const done = await client.command('import_stages', { projectId: 'shop', path: 'stages' });
    expect(done).toMatchObject({ created: 2, updated: 0 });
    expect(done.stages.map(({ id, column }) => [id, column])).toEqual([
      ['STAGE-001-001-001', 'done'],
      ['STAGE-001-001-002', 'ready'],
    ]);
    await write(
      'epic/2.md',
      '---\nid: STAGE-001-001-002\ntitle: The API\ndepends_on: STAGE-001-001-001\n---\nMake it.\n',
    );
    const again = await client.command('import_stages', { projectId: 'shop', path: 'stages' });
    expect(again).toMatchObject({ created: 0, updated: 2 });
    expect(again.stages[1]).toMatchObject({ title: 'The API', prompt: 'Make it.', priority: 1 });

    await write('3.md', '---\nid: ../x\ntitle: ""\n---\nBody\n');
    await write('4.md', '---\nid: STAGE-9\ntitle: A\ndepends_on: [STAGE-404]\n---\nBody\n');
    const refused = client.command('import_stages', { projectId: 'shop', path: 'stages' });
    await expect(refused).rejects.toMatchObject({ code: 'import_failed', message: expect.stringContaining('3.md') });
    expect((await client.command('get_board')).stages).toHaveLength(2);
  },
);

itAll('names both files when another project already uses an id', async () => {
  const { client, repo, folder } = await createKit();
  const other = await createRepository(join(folder, 'other'));
  const { project } = await client.command('create_project', { path: other });
  const text = '---\nid: STAGE-7\ntitle: A\n---\nBody\n';
  await writeFile(join(repo, 'a.md'), text);
  await writeFile(join(other, 'b.md'), text);
  await client.command('import_stages', { projectId: 'shop', path: 'a.md' });
  const message = await client
    .command('import_stages', { projectId: project.id, path: 'b.md' })
    .catch((error) => error.message);
  expect(message).toContain(join(repo, 'a.md'));
  expect(message).toContain(join(other, 'b.md'));
});

it('shows the change of a worktree, merges it once it is committed, and refuses before', async () => {
  const { client, startStage, repo } = await createKit({ isEmulated: true });
  const stageId = await startStage(said('Nothing yet.'));
  await client.state(stageId, 'idle');
  const path = (await client.command('get_stage', { stageId })).stage.worktree?.path ?? '';
  await writeFile(join(path, 'README.md'), '# Shop\n\nMore.\n');
  await writeFile(join(path, 'nëu file.txt'), 'new\n');
  const { diff } = await client.command('get_diff', { stageId });
  expect(diff.files).toMatchObject([
    { path: 'README.md', status: 'modified', additions: 2, deletions: 0 },
    { path: 'nëu file.txt', status: 'added', additions: 1, isBinary: false },
  ]);
  const one = (await client.command('get_diff', { stageId, path: 'README.md' })).diff;
  expect(one).toMatchObject({
    head: diff.head,
    tree: diff.tree,
    files: [{ patch: '@@ -1 +1,3 @@\n # Shop\n+\n+More.\n' }],
  });
  expect(await git(path, 'diff', '--cached', '--name-only')).toBe('');
  await expect(client.command('complete_stage', { stageId, merge: true })).rejects.toMatchObject({
    code: 'uncommitted_work',
  });
  await git(path, 'add', '.');
  await git(path, 'commit', '--quiet', '-m', 'More');
  await writeFile(join(repo, 'README.md'), '# Dirty\n');
  await expect(client.command('complete_stage', { stageId, merge: true })).rejects.toMatchObject({
    code: 'merge_refused',
  });
  await git(repo, 'commit', '--quiet', '-am', 'In the way');
  await expect(client.command('complete_stage', { stageId, merge: true })).rejects.toMatchObject({
    code: 'merge_conflict',
  });
  expect(await git(repo, 'status', '--porcelain')).toBe('');
  // A refusal changes nothing: its process still runs.
  expect((await client.command('get_session', { stageId })).session).toMatchObject({ state: 'idle' });
  await git(repo, 'reset', '--quiet', '--hard', 'HEAD~1');
  const { stage } = await client.command('complete_stage', { stageId, merge: true });
  expect(stage.column).toBe('done');
  expect(await readFile(join(repo, 'nëu file.txt'), 'utf8')).toBe('new\n');
});

itAll('merges exactly the commit that a person reviewed', async () => {
  const { client, startStage, repo } = await createKit({ isEmulated: true });
  const stageId = await startStage(said('Nothing yet.'));
  await client.state(stageId, 'idle');
  const path = (await client.command('get_stage', { stageId })).stage.worktree?.path ?? '';
  const before = await git(repo, 'rev-parse', 'HEAD');
  const commit = async (content: string) => {
    await writeFile(join(path, 'a.txt'), content);
    await git(path, 'add', '.');
    await git(path, 'commit', '--quiet', '-m', 'Work');
  };
  const check = async () => {
    const { head, tree } = (await client.command('get_diff', { stageId })).diff;
    return { stageId, merge: true, head, tree };
  };
  const isRefused = async (seen: Awaited<ReturnType<typeof check>>, text: string) => {
    await expect(client.command('complete_stage', seen)).rejects.toMatchObject({
      code: 'head_moved',
      message: expect.stringContaining(text),
    });
    expect(await git(repo, 'rev-parse', 'HEAD')).toBe(before);
    // Refused before anything is done: its process still runs.
    expect((await client.command('get_session', { stageId })).session).toMatchObject({ state: 'idle' });
  };
  await commit('seen\n');
  const first = await check();
  await commit('not seen\n');
  await isRefused(first, 'has other commits');
  const second = await check();
  await writeFile(join(path, 'b.txt'), 'not seen\n');
  await isRefused(second, 'files in the worktree have changed');
  await rm(join(path, 'b.txt'));
  await client.command('complete_stage', await check());
  expect(await git(repo, 'rev-parse', 'HEAD^2')).toBe(second.head);
  expect(await git(repo, 'log', '-1', '--format=%s')).toBe(`Merge branch 'callboard/${stageId}' into main`);
});

itAll('merges nothing of a stage that cannot be completed', async () => {
  const { client, startStage, repo } = await createKit({ isEmulated: true });
  const steps = [{ tools: [{ name: 'Bash', input: { command: 'touch a' } }] }];
  const stageId = await startStage(prompt({ steps }));
  await client.state(stageId, 'waiting');
  const path = (await client.command('get_stage', { stageId })).stage.worktree?.path ?? '';
  await git(path, 'commit', '--quiet', '--allow-empty', '-m', 'Half of it');
  const head = await git(repo, 'rev-parse', 'HEAD');
  await expect(client.command('complete_stage', { stageId, merge: true })).rejects.toMatchObject({
    code: 'stage_running',
  });
  expect(await git(repo, 'rev-parse', 'HEAD')).toBe(head);
});

itAll('copies listed ignored files into a new worktree, and keeps unmerged work when a stage is deleted', async () => {
  const { client, startStage, repo } = await createKit({ isEmulated: true });
  await writeFile(join(repo, '.gitignore'), '.env\nbig/\n');
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '-m', 'Ignore');
  await writeFile(join(repo, '.env'), 'KEY=1\n');
  await client.command('update_project', { projectId: 'shop', settings: { copyIgnored: ['.env'] } });
  const stageId = await startStage(said('Hello.'));
  await client.state(stageId, 'idle');
  const path = (await client.command('get_stage', { stageId })).stage.worktree?.path ?? '';
  expect(await readFile(join(path, '.env'), 'utf8')).toBe('KEY=1\n');
  await writeFile(join(path, 'work.txt'), 'unsaved\n');
  await expect(client.command('remove_stage', { stageId })).rejects.toMatchObject({ code: 'stage_running' });
  const { left } = await client.command('remove_stage', { stageId, endSession: true });
  expect(left).toContain(path);
  expect(await readFile(join(path, 'work.txt'), 'utf8')).toBe('unsaved\n');
});

it('counts a stage’s changes once a turn has ended, and after a restart those that were missed', async () => {
  const kit = await createKit({ isInFile: true });
  const { startStage } = kit;
  const write = { name: 'Write', input: { file_path: 'made.txt', content: 'one\ntwo\n' } };
  const script = prompt({ steps: [{ tools: [write] }, { text: 'Made it.' }] });
  const stageId = await startStage(script, { permissionMode: 'acceptEdits' });
  await kit.client.event('session-updated', ({ changes }) => changes?.files === 1 && changes.additions === 2);
  const { stage } = await kit.client.command('get_stage', { stageId });
  await kit.client.command('stop_stage', { stageId });
  await kit.stop();
  await writeFile(join(stage.worktree?.path ?? '', 'more.txt'), 'three\n');
  const database = new DatabaseSync(join(kit.dataDir, 'store.sqlite')); // as if it had been killed before it counted
  database.exec("update sessions set document = json_set(document, '$.changesCountedFor', null)");
  database.close();
  await kit.start();
  const counted = async () => (await kit.client.command('get_stage', { stageId })).stage.session?.changes;
  await expect.poll(counted).toEqual({ files: 2, additions: 3, deletions: 0 });
});

it('never ends a turn that begins while its stage is being completed', async () => {
  const { client, startStage } = await createKit({ isEmulated: true });
  const other = { projectId: 'shop', title: 'Another', prompt: 'Later.' };
  const asks = prompt({ steps: [{ tools: [{ name: 'Bash', input: { command: 'true', description: 'Do it' } }] }] });
  // The store runs one operation at a time: the other writes let the message come between any two steps.
  for (const others of [0, 2, 4, 8, 16, 32]) {
    const stageId = await startStage(said('First.'));
    await client.state(stageId, 'idle');
    const made = Array.from({ length: others }, () => client.command('create_stage', other));
    const sent = client.command('send_message', { stageId, message: asks });
    const completed = client.command('complete_stage', { stageId }).catch((error: unknown) => error);
    await Promise.all([...made, sent]);
    const outcome = await completed;
    // Whichever was first: Claude handles the message without further action.
    await client.state(stageId, 'waiting');
    const { stage } = await client.command('get_stage', { stageId });
    if (stage.completedAt === null) expect(outcome).toMatchObject({ code: 'stage_running' });
    const ends = (await client.transcript(stageId)).flatMap((e) => (e.kind === 'turn-end' ? e.outcome : []));
    expect(ends).not.toContain('interrupted');
  }
});
