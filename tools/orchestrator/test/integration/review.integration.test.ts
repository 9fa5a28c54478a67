import { randomUUID } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { until } from '../../../../test-support/until.ts';
import { findCommandProcesses } from '../../src/platform/process-table.ts';
import { createKit } from '../support/kit.ts';

const said = (text: string) => prompt({ steps: [{ text }] });
const write = (file: string, content: string) => ({
  name: 'Bash',
  input: { command: `printf '${content}' > ${file}`, description: 'Write it' },
});

itAll(
  'gives Claude the comments on its changes, tells the last turn apart, and marks what it has answered',
  async () => {
    const kit = await createKit();
    const { client, model } = kit;
    const stageId = await kit.startStage(
      prompt({ steps: [{ tools: [write('a.txt', 'one\\ntwo\\nthree\\n')] }, { text: 'Done.' }] }),
    );
    const { requestId } = await client.event('approval-requested');
    await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
    await client.state(stageId, 'idle');
    const { stage } = await client.command('get_stage', { stageId });
    const path = stage.worktree?.path ?? '';
    const marked = (n: number) =>
      until(`the count after turn ${n}`, async () => {
        const { session } = await client.command('get_session', { stageId });
        return session.changes?.additions === n;
      });
    await marked(3);

    const on = { stageId, path: 'a.txt', side: 'new' } as const;
    await client.command('add_comment', { ...on, line: 2, text: said('Write four instead.') });
    const commentId = randomUUID();
    for (const text of ['Keep this.', 'Added once.'])
      await client.command('add_comment', { ...on, commentId, path: 'README.md', line: 1, text });
    const { message, comments } = await client.command('send_comments', { stageId });
    expect(message.status).toBe('sent');
    await client.state(stageId, 'idle');
    const heard = JSON.stringify(model.requests.at(-1)?.messages);
    expect(heard).toContain('2. a.txt, line 2:\\n```\\ntwo\\n```');
    const states = async () => (await client.command('get_comments', { stageId })).comments.map(({ state }) => state);
    expect(await states()).toEqual(['answered', 'answered']);
    // Sent again, as if the reply had been lost.
    await client.command('send_comments', { stageId, ids: comments.map(({ id }) => id) });
    const users = (await client.transcript(stageId)).filter(({ kind }) => kind === 'user');
    expect(users).toHaveLength(2);

    // The second turn changed nothing; what comes after it is neither of it nor lost.
    await writeFile(join(path, 'a.txt'), `zero\n${await readFile(join(path, 'a.txt'), 'utf8')}`);
    await until('the mark of the second turn', async () => {
      const { diff } = await client.command('get_diff', { stageId, range: 'turn' });
      return diff.files[0]?.additions === 1;
    });
    const { diff } = await client.command('get_diff', { stageId });
    expect(diff.files[0]).toMatchObject({ path: 'a.txt', additions: 4 });
    const [first] = (await client.command('get_comments', { stageId })).comments;
    expect(first).toMatchObject({ line: 3, state: 'answered', hasMoved: false });
  },
);

it('neither loses nor doubles comments if it is killed while they are sent', async () => {
  const kit = await createKit({ isEmulated: true, where: 'apart' });
  const stageId = await kit.startStage(said('Done.'));
  await kit.client.state(stageId, 'idle');
  for (let round = 0; round < 4; round += 1) {
    const note = `Round ${round}`;
    await kit.client.command('add_comment', { stageId, path: 'README.md', side: 'new', line: 1, text: note });
    const sending = kit.client.command('send_comments', { stageId }).catch(() => undefined);
    if (round % 2 === 1) await sending;
    await kit.kill();
    await kit.start('apart');
    const { comments } = await kit.client.command('get_comments', { stageId });
    const mine = comments.find(({ text }) => text === note);
    if (mine?.state === 'draft') await kit.client.command('send_comments', { stageId });
    await kit.client.state(stageId, 'idle');
    const said = (await kit.client.transcript(stageId)).filter(
      (entry) => entry.kind === 'user' && entry.text.includes(note),
    );
    expect(said).toHaveLength(1);
    await until('the answer', async () => {
      const now = await kit.client.command('get_comments', { stageId });
      return now.comments.every(({ state }) => state === 'answered');
    });
  }
});

it('asks Claude for a review and a text beside the conversation, changes nothing, and survives a kill in between', async () => {
  const kit = await createKit({ where: 'apart' });
  const stageId = await kit.startStage(said('Done.'));
  const { client } = kit;
  await client.state(stageId, 'idle');
  const { stage } = await client.command('get_stage', { stageId });
  const path = stage.worktree?.path ?? '';
  /** The model reads its script at the end of the changes. */
  const changed = (steps: Parameters<typeof prompt>[0]['steps']) =>
    writeFile(join(path, 'a.txt'), `one\ntwo\n${prompt({ steps })}\n`);
  const answer = (input: object) => ({ tools: [{ name: 'StructuredOutput', input: { ...input } }] });
  const ended = (kind: string) =>
    kit.client.event('side-run-updated', (run) => run.kind === kind && !['waiting', 'running'].includes(run.state));
  const sessionNow = async () => (await kit.client.command('get_session', { stageId })).session;
  const before = await sessionNow();

  const found = { side: 'new', severity: 'high', text: 'Count from zero.' };
  const findings = [
    { ...found, path: join(path, 'a.txt'), line: 2 },
    { ...found, path: 'nowhere.txt', line: 1 },
  ];
  await changed([
    { tools: [{ name: 'Write', input: { file_path: join(path, 'b.txt'), content: 'x' } }] },
    { tools: [{ name: 'Bash', input: { command: 'touch c.txt' } }] },
    { tools: [{ name: 'Read', input: { file_path: join(path, 'a.txt') } }] },
    answer({ summary: 'One fault.', findings }),
  ]);
  await client.command('start_side_run', { stageId, kind: 'review' });
  const review = await ended('review');
  expect(review).toMatchObject({
    state: 'done',
    summary: 'One fault.',
    findings: 1,
    misplaced: [{ path: 'nowhere.txt' }],
  });
  const [comment] = (await client.command('get_comments', { stageId })).comments;
  expect(comment).toMatchObject({
    path: 'a.txt',
    line: 2,
    quote: 'two',
    isFinding: true,
    author: 'Claude',
    isMine: true,
  });
  expect((await readdir(path)).filter((name) => /^[bc]\.txt$/.test(name))).toEqual([]);
  const after = await sessionNow();
  expect(after.sessionId).toBe(before.sessionId);
  expect(after.costUsd).toBeCloseTo(before.costUsd + (review.costUsd ?? 0));
  expect(review.costUsd).toBeGreaterThan(0);

  await changed([{ text: 'It looks fine.' }, { text: 'It does.' }]);
  await client.command('start_side_run', { stageId, kind: 'pull-request' });
  expect(await ended('pull-request')).toMatchObject({
    state: 'failed',
    reason: expect.stringContaining('in the form'),
  });
  await changed([answer({ title: 'Count', body: 'From zero.' })]);
  await client.command('start_side_run', { stageId, kind: 'pull-request' });
  await until('the text', async () => {
    const { runs } = await client.command('get_side_runs', { stageId });
    return runs[0]?.text?.title === 'Count';
  });

  await changed([{ hangs: true }]);
  const { run } = await client.command('start_side_run', { stageId, kind: 'review' });
  await until('the question', async () => (await findCommandProcesses()).has(run.id));
  await kit.kill();
  await kit.start();
  const { runs } = await kit.client.command('get_side_runs', { stageId });
  expect(runs.find(({ id }) => id === run.id)).toMatchObject({ state: 'interrupted' });
  expect((await findCommandProcesses()).has(run.id)).toBe(false);

  await changed([answer({ summary: 'Nothing.', findings: [] })]);
  await kit.client.command('start_side_run', { stageId, kind: 'review' });
  expect(await ended('review')).toMatchObject({ state: 'done', findings: 0 });
  // Findings go to Claude like comments of people.
  await kit.client.command('send_comments', { stageId, ids: [comment?.id ?? ''] });
  await kit.client.state(stageId, 'idle');
  const heard = JSON.stringify(kit.model.requests.at(-1)?.messages);
  expect(heard).toContain('a.txt, line 2 (from your own review)');
  expect(heard).not.toContain('strict colleague');
});

itAll('reviews as a phase: what it finds waits for a person, goes to Claude, and the pipeline goes on', async () => {
  const { client, model, startStage } = await createKit();
  const phases = [
    { name: 'Build', prompt: said('Built.'), gate: 'human' },
    { name: 'Look', kind: 'review', prompt: 'Look at the names above all.', gate: 'none' },
    { name: 'Finish', prompt: `${said('Finished.')} The verdict was: {{previous.result}}`, gate: 'none' },
  ];
  const stageId = await startStage('The task.', { pipeline: phases });
  await client.event('session-updated', ({ phaseIndex, atGate }) => phaseIndex === 0 && atGate);
  const column = async () => (await client.command('get_stage', { stageId })).stage.column;
  const { stage } = await client.command('get_stage', { stageId });
  const finding = { path: 'a.txt', line: 1, side: 'new', severity: 'low', text: `Call it two. ${said('Renamed.')}` };
  const steps = [
    { text: 'No form.' },
    { tools: [{ name: 'StructuredOutput', input: { summary: 'One name.', findings: [finding] } }] },
  ];
  await writeFile(join(stage.worktree?.path ?? '', 'a.txt'), `one\n${prompt({ steps })}\n`);
  const own = (await client.command('get_session', { stageId })).session;

  await client.command('advance_stage', { stageId });
  const waiting = await client.event('session-updated', ({ phaseIndex, atGate }) => phaseIndex === 1 && atGate);
  expect(waiting).toMatchObject({ sessionId: own.sessionId, review: { state: 'done', findings: 1 } });
  expect(await column()).toBe('needs-you');
  const asked = model.requests.map(({ messages }) => JSON.stringify(messages));
  expect(asked.some((text) => text.includes('names above all') && text.includes('strict colleague'))).toBe(true);
  const { runs } = await client.command('get_side_runs', { stageId });
  expect(runs).toMatchObject([{ state: 'done', phaseIndex: 1, by: null, summary: 'One name.' }]);
  expect(waiting.costUsd).toBeCloseTo(own.costUsd + (runs[0]?.costUsd ?? 0));

  const { comments } = await client.command('get_comments', { stageId });
  await client.command('send_comments', { stageId, ids: comments.map(({ id }) => id) });
  await client.event('session-updated', ({ phaseIndex, state }) => phaseIndex === 2 && state === 'idle');
  expect(await column()).toBe('review');
  const entries = await client.transcript(stageId);
  const texts = entries.flatMap((entry) => (entry.kind === 'text' ? entry.text : []));
  expect(texts).toEqual(['Built.', 'Renamed.', 'Finished.']);
  const reported = entries.flatMap((entry) => (entry.kind === 'user' ? entry.text : []));
  expect(reported.at(-1)).toContain('The verdict was: One name.');
});
