import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type MessageId, StageId } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { until } from '../../../../test-support/until.ts';
import { conversationFile } from '../support/conversation.ts';
import { createKit } from '../support/kit.ts';

/** A turn in which Claude writes these files into a worktree, and says something. */
const turn = (folder: string, name: string, files: Record<string, string>): string =>
  prompt(
    {
      steps: [
        {
          tools: Object.entries(files).map(([file, content]) => ({
            name: 'Write',
            input: { file_path: join(folder, file), content },
          })),
        },
        { text: `Answer to ${name}.` },
      ],
    },
    `<${name}>`,
  );

it('goes back with files and conversation, also if it is killed meanwhile, undoes it, and forks', async () => {
  const kit = await createKit({ isInFile: true, where: 'apart' });
  const { model, dataDir, repo } = kit;
  const folder = join(dataDir, 'worktrees', 'shop', 'STAGE-1');
  const at = async (name: string, of = folder) =>
    existsSync(join(of, name)) ? readFile(join(of, name), 'utf8') : null;
  const saved = (count: number) =>
    until(`${count} kept turns`, async () => {
      using store = new DatabaseSync(join(dataDir, 'store.sqlite'), { readOnly: true });
      const marks = store.prepare('select at from turn_marks where stage_id = ? and commit_id is not null');
      return marks.all('STAGE-1').length >= count;
    });
  const sessionOf = async (stageId: string) => (await kit.client.command('get_session', { stageId })).session;
  const heard = () => JSON.stringify(model.requests.findLast(({ kind }) => kind === 'script')?.messages);

  const stageId = await kit.startStage(turn(folder, 'first', { 'a.txt': 'one\n' }), { permissionMode: 'acceptEdits' });
  expect(stageId).toBe('STAGE-1');
  await kit.client.state(stageId, 'idle');
  await saved(1);
  let count = 1;
  async function send(name: string, files: Record<string, string>): Promise<MessageId> {
    const message = turn(folder, name, files);
    const { messageId } = await kit.client.command('send_message', { stageId, message });
    await until(`the answer to ${name}`, async () => {
      const entries = await kit.client.transcript(stageId);
      return entries.some((entry) => entry.kind === 'text' && entry.text === `Answer to ${name}.`);
    });
    await kit.client.state(stageId, 'idle');
    await saved(++count);
    return messageId;
  }
  const second = await send('second', { 'a.txt': 'two\n', 'b.txt': 'b\n' });
  const third = await send('third', { 'a.txt': 'three\n' });
  const firstConversation = await conversationFile(kit, stageId);
  const whole = await readFile(firstConversation, 'utf8');

  const { plan } = await kit.client.command('rewind_session', { stageId, messageId: second, dryRun: true });
  expect(plan).toMatchObject({
    files: { counts: { files: 2 }, blocked: [], commits: 0 },
    conversation: { messages: 2, isNew: false },
  });
  expect(plan.text).toContain('<second>');
  expect(await at('a.txt')).toBe('three\n');

  const going = kit.client.command('rewind_session', { stageId, messageId: second }).catch(() => undefined);
  await kit.client.event('session-updated', (data) => data.stageId === stageId && data.isGoingBack);
  await kit.kill();
  await going;
  await kit.start('apart');
  const gone = await sessionOf(stageId);
  expect(gone).toMatchObject({ state: 'ended', isGoingBack: false, goneBack: [{ messageId: second, canUndo: true }] });
  expect([await at('a.txt'), await at('b.txt')]).toEqual(['one\n', null]);

  const another = await send('another', { 'c.txt': 'c\n' });
  expect(heard()).toContain('Answer to first.');
  expect(heard()).not.toContain('<second>');
  expect((await readFile(firstConversation, 'utf8')).startsWith(whole)).toBe(true);
  const { sessionId, costUsd } = await sessionOf(stageId);
  expect(firstConversation).not.toContain(sessionId);
  await expect(kit.client.command('undo_rewind', { stageId })).rejects.toMatchObject({ code: 'cannot_go_back' });

  // Back once more, undone, and on in the same conversation.
  await kit.client.command('rewind_session', { stageId, messageId: another });
  expect(await at('c.txt')).toBeNull();
  await kit.client.command('undo_rewind', { stageId });
  expect(await at('c.txt')).toBe('c\n');
  expect(await sessionOf(stageId)).toMatchObject({ sessionId, goneBack: [{ canUndo: false }] });
  await send('last', {});
  expect(heard()).toContain('Answer to another.');
  expect((await sessionOf(stageId)).costUsd).toBeGreaterThan(costUsd);

  // A fork of a moment that was taken back.
  const { stage: made } = await kit.client.command('fork_stage', { stageId, messageId: third, title: 'Another third' });
  expect(made).toMatchObject({ column: 'ready', title: 'Another third', fork: { stageId, messageId: third } });
  const place = join(dataDir, 'worktrees', 'shop', made.id);
  const patch = { prompt: turn(place, 'a new third', { 'd.txt': 'd\n' }) };
  await kit.client.command('update_stage', { stageId: made.id, patch });
  await kit.client.command('start_stage', { stageId: made.id });
  await kit.client.state(made.id, 'idle');
  expect(heard()).toContain('Answer to second.');
  expect(heard()).toContain('<a new third>');
  expect(heard()).not.toContain('<third>');
  expect([await at('a.txt', place), await at('b.txt', place), await at('d.txt', place)]).toEqual([
    'two\n',
    'b\n',
    'd\n',
  ]);
  expect([await at('a.txt'), await at('d.txt')]).toEqual(['one\n', null]);
  expect(await kit.client.transcript(made.id)).toContainEqual(
    expect.objectContaining({ kind: 'notice', code: 'forked' }),
  );
  expect((await kit.client.command('get_stage', { stageId: made.id })).stage.origin).toMatchObject({ isTaken: true });
  await kit.client.command('stop_stage', { stageId });
  await kit.client.state(stageId, 'ended');
  await kit.client.command('remove_stage', { stageId: StageId.parse(stageId) });
  expect(await git(repo, 'for-each-ref', 'refs/callboard/turns/STAGE-1/')).toBe('');
});

it('can go back to before each message, however soon it comes: queued, in place of a turn, or to an ended session', async () => {
  const kit = await createKit();
  const { client, dataDir } = kit;
  const folder = join(dataDir, 'worktrees', 'shop', 'STAGE-1');
  const first = turn(folder, 'first', { 'a.txt': 'first\n' });
  const stageId = await kit.startStage(first, { permissionMode: 'acceptEdits' });
  const send = async (name: string, mode: 'append' | 'now' = 'append') => {
    const message = turn(folder, name, { 'a.txt': `${name}\n` });
    return (await client.command('send_message', { stageId, message, mode })).messageId;
  };
  const answered = (name: string) =>
    until(`the answer to ${name}`, async () =>
      (await client.transcript(stageId)).some((entry) => entry.kind === 'text' && entry.text === `Answer to ${name}.`),
    );
  const second = await send('second');
  const third = await send('third');
  await answered('third');
  const fourth = await send('fourth');
  await answered('fourth');
  await client.command('stop_stage', { stageId });
  const fifth = await send('fifth');
  await answered('fifth');
  await client.state(stageId, 'idle');
  const write = { name: 'Write', input: { file_path: join(folder, 'a.txt'), content: 'cut off\n' } };
  await client.command('send_message', { stageId, message: prompt({ steps: [{ tools: [write] }, { hangs: true }] }) });
  await until('the file of the turn that hangs', async () =>
    (await readFile(join(folder, 'a.txt'), 'utf8')).includes('cut off'),
  );
  const sixth = await send('sixth', 'now');
  await answered('sixth');
  await client.state(stageId, 'idle');
  const expected = { second: 'first', third: 'second', fourth: 'third', fifth: 'fourth', sixth: 'cut off' };
  const ids = { second, third, fourth, fifth, sixth };
  for (const name of ['second', 'third', 'fourth', 'fifth', 'sixth'] as const) {
    const { plan } = await client.command('rewind_session', { stageId, messageId: ids[name], dryRun: true });
    expect([name, plan.filesProblem]).toEqual([name, null]);
  }
  for (const name of ['sixth', 'fifth', 'third', 'second'] as const) {
    await client.command('rewind_session', { stageId, messageId: ids[name], files: true });
    expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe(`${expected[name]}\n`);
  }
});
