import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { createKit, type Kit } from '../support/kit.ts';

const said = (text: string) => prompt({ steps: [{ text }] });
const ASK = { name: 'Bash', input: { command: 'touch a.txt', description: 'Make it' } };

const sessionOf = async ({ client }: Kit, stageId: string) =>
  (await client.command('get_session', { stageId })).session;

/** What Claude has said in the stage. */
const textsOf = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));

it('delivers messages as text to the same process, and resumes an ended conversation with one', async () => {
  const kit = await createKit();
  const { client, startStage, model } = kit;
  const { stage } = await client.command('create_stage', { projectId: 'shop', title: 'A', prompt: 'B' });
  const send = (stageId: string, message: string) => client.command('send_message', { stageId, message });
  await expect(send(stage.id, ' ')).rejects.toMatchObject({ code: 'bad_request' });
  await expect(send(stage.id, 'x')).rejects.toMatchObject({ code: 'no_session' });
  await expect(client.command('start_stage', { stageId: 'STAGE-99' })).rejects.toMatchObject({ code: 'unknown_stage' });

  const stageId = await startStage(said('First.'));
  await client.state(stageId, 'idle');
  const before = await sessionOf(kit, stageId);
  expect((await send(stageId, said('Second.'))).status).toBe('sent');
  await client.event('session-updated', (s) => s.stageId === stageId && s.state === 'busy' && s.lastTurn !== null);
  await client.state(stageId, 'idle');
  const { launchId, sessionId } = before;
  expect(await sessionOf(kit, stageId)).toMatchObject({ launchId, sessionId });
  expect(await textsOf(kit, stageId)).toEqual(['First.', 'Second.']);

  // A leading slash runs no command.
  await send(stageId, `/clear ${said('Not cleared.')}`);
  await expect.poll(() => textsOf(kit, stageId)).toEqual(['First.', 'Second.', 'Not cleared.']);
  expect((await sessionOf(kit, stageId)).sessionId).toBe(sessionId);

  await client.command('stop_stage', { stageId });
  await client.state(stageId, 'ended');
  expect((await send(stageId, said('Third.'))).status).toBe('resumed');
  await client.event('session-updated', (s) => s.launchId !== launchId && s.state === 'busy');
  await client.state(stageId, 'idle');
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('First.');
});

it('queues messages while Claude works and delivers them in order, one per turn, never during an open request', async () => {
  const kit = await createKit();
  const { client, startStage, model } = kit;
  const stageId = await startStage(prompt({ steps: [{ tools: [ASK] }, { text: 'First.' }] }));
  const { requestId } = await client.event('approval-requested');
  const send = (text: string) => client.command('send_message', { stageId, message: said(text) });
  expect((await send('Second.')).status).toBe('queued');
  const third = await send('Third.');
  const fourth = await send('Fourth.');
  expect((await client.command('get_queue', { stageId })).queue).toHaveLength(3);
  await client.command('edit_queued', {
    stageId,
    messageId: third.messageId,
    patch: { message: said('Third, edited.') },
  });
  await client.command('remove_queued', { stageId, messageId: fourth.messageId });
  expect(model.requests.filter((request) => JSON.stringify(request).includes('Second.'))).toEqual([]);
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await expect.poll(() => textsOf(kit, stageId)).toEqual(['First.', 'Second.', 'Third, edited.']);
  await client.state(stageId, 'idle');
  const ends = (await client.transcript(stageId)).filter((entry) => entry.kind === 'turn-end');
  expect(ends).toHaveLength(3);
  await expect(
    client.command('edit_queued', { stageId, messageId: third.messageId, patch: { message: 'x' } }),
  ).rejects.toMatchObject({
    code: 'already_sent',
  });

  // A message may take the place of those that wait, and gets their texts back.
  await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Fourth.', gate: 'go' }] }) });
  await client.command('send_message', { stageId, message: 'one' });
  await client.command('send_message', { stageId, message: 'two' });
  const reply = await client.command('send_message', { stageId, message: said('Instead.'), mode: 'replace' });
  expect(reply).toMatchObject({ status: 'queued', replaced: ['one', 'two'] });
  model.release('go');
  await expect
    .poll(() => textsOf(kit, stageId))
    .toEqual(['First.', 'Second.', 'Third, edited.', 'Fourth.', 'Instead.']);
});

it('interrupts, holds queued messages, continues with the next one, and closes a request whose turn is interrupted', async () => {
  const kit = await createKit();
  const { client, startStage, model } = kit;
  const stageId = await startStage(prompt({ steps: [{ text: 'never', gate: 'shut' }] }));
  await model.waitForRequest((request) => JSON.stringify(request.messages).includes('script'));
  await client.command('send_message', { stageId, message: said('Held.') });
  const { session } = await client.command('interrupt', { stageId });
  expect(session.stageId).toBe(stageId);
  await client.state(stageId, 'idle');
  expect((await client.command('get_stage', { stageId })).stage.column).toBe('needs-you');
  expect(await client.command('get_queue', { stageId })).toMatchObject({
    held: true,
    queue: [{ text: said('Held.') }],
  });
  expect((await client.command('send_message', { stageId, message: said('Onwards.') })).status).toBe('sent');
  // The turn that succeeds releases the held message as well.
  await expect.poll(() => textsOf(kit, stageId)).toEqual(['Onwards.', 'Held.']);
  await client.state(stageId, 'idle');

  await client.command('send_message', { stageId, message: prompt({ steps: [{ tools: [ASK] }, { text: 'Made.' }] }) });
  const { requestId } = await client.event('approval-requested');
  await client.command('interrupt', { stageId });
  await client.event('approval-cancelled', (request) => request.requestId === requestId);
  await expect(client.command('approve_tool', { stageId, requestId, decision: 'allow' })).rejects.toMatchObject({
    code: 'request_closed',
    message: expect.stringContaining('its turn was ended. Interrupted by Ada.'),
    decision: { outcome: 'closed' },
  });
});

itAll('suggests files of the worktree, and Claude reads those that a message names; a prompt names none', async () => {
  const { client, startStage, model, repo } = await createKit();
  await writeFile(join(repo, 'a note.txt'), 'THE NOTE\n');
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '--no-gpg-sign', '-m', 'Note');
  const { stage } = await client.command('create_stage', { projectId: 'shop', title: 'Other', prompt: 'Later.' });
  await expect(client.command('suggest_files', { stageId: stage.id })).rejects.toMatchObject({ code: 'no_session' });

  const stageId = await startStage(`Look at @"a note.txt". ${said('First.')}`);
  await client.state(stageId, 'idle');
  expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('THE NOTE');
  expect(await client.command('suggest_files', { stageId, query: 'note' })).toEqual({ files: ['a note.txt'] });
  await client.command('send_message', { stageId, message: `Now look at @"a note.txt". ${said('Second.')}` });
  const asked = await model.waitForRequest((request) => JSON.stringify(request.messages).includes('Now look at'));
  expect(JSON.stringify(asked.messages)).toContain('THE NOTE');
  await client.state(stageId, 'idle');
});
