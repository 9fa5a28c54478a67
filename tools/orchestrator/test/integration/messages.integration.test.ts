import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { createKit } from '../support/kit.ts';

const said = (text: string) => prompt({ steps: [{ text }] });

it('delivers a follow-up message to the same process', async () => {
  const { client, startStage } = await createKit();
  const stageId = await startStage(said('First.'));
  await client.state(stageId, 'idle');
  const before = (await client.command('get_session', { stageId })).session;
  const { status } = await client.command('send_message', { stageId, message: said('Second.') });
  expect(status).toBe('sent');
  await client.event('session-updated', (s) => s.stageId === stageId && s.state === 'busy' && s.lastTurn !== null);
  await client.state(stageId, 'idle');
  const after = (await client.command('get_session', { stageId })).session;
  expect(after).toMatchObject({ launchId: before.launchId, sessionId: before.sessionId });
  const texts = (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));
  expect(texts).toEqual(['First.', 'Second.']);
});

it('queues messages while Claude works and delivers them in order, one per turn, never during an open request', async () => {
  const { client, startStage, model } = await createKit();
  const ask = { name: 'Bash', input: { command: 'touch a.txt', description: 'Make it' } };
  const stageId = await startStage(prompt({ steps: [{ tools: [ask] }, { text: 'First.' }] }));
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
  await expect
    .poll(async () => (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : [])))
    .toEqual(['First.', 'Second.', 'Third, edited.']);
  await client.state(stageId, 'idle');
  const ends = (await client.transcript(stageId)).filter((entry) => entry.kind === 'turn-end');
  expect(ends).toHaveLength(3);
  await expect(
    client.command('edit_queued', { stageId, messageId: third.messageId, patch: { message: 'x' } }),
  ).rejects.toMatchObject({
    code: 'already_sent',
  });
});

it('replaces the waiting messages and returns their texts', async () => {
  const { client, startStage, model } = await createKit();
  const stageId = await startStage(prompt({ steps: [{ text: 'First.', gate: 'go' }] }));
  await client.command('send_message', { stageId, message: 'one' });
  await client.command('send_message', { stageId, message: 'two' });
  const reply = await client.command('send_message', { stageId, message: said('Instead.'), mode: 'replace' });
  expect(reply).toMatchObject({ status: 'queued', replaced: ['one', 'two'] });
  model.release('go');
  await expect
    .poll(async () => (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : [])))
    .toEqual(['First.', 'Instead.']);
});

it('interrupts, holds queued messages, and continues with the next message', async () => {
  const { client, startStage, model } = await createKit();
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
  await expect
    .poll(async () => (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : [])))
    .toEqual(['Onwards.', 'Held.']);
});

it('interrupts a turn that waits for a person: closes the request and rejects a late answer', async () => {
  const { client, startStage } = await createKit();
  const ask = { name: 'Bash', input: { command: 'touch a.txt', description: 'Make it' } };
  const stageId = await startStage(prompt({ steps: [{ tools: [ask] }, { text: 'First.' }] }));
  const { requestId } = await client.event('approval-requested');
  await client.command('interrupt', { stageId });
  await client.event('approval-cancelled', (request) => request.requestId === requestId);
  await expect(client.command('approve_tool', { stageId, requestId, decision: 'allow' })).rejects.toMatchObject({
    code: 'request_closed',
    message: expect.stringContaining('its turn was ended. Interrupted by Ada.'),
    decision: { outcome: 'closed' },
  });
});

it('resumes an ended session with a message, and remembers the conversation', async () => {
  const { client, startStage, model } = await createKit();
  const stageId = await startStage(said('First.'));
  await client.state(stageId, 'idle');
  await client.command('stop_stage', { stageId });
  await client.state(stageId, 'ended');
  expect((await client.command('send_message', { stageId, message: said('Second.') })).status).toBe('resumed');
  await client.event('session-updated', (s) => s.stageId === stageId && s.state === 'busy');
  await client.state(stageId, 'idle');
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('First.');
});

it('sends text as text: a leading slash runs no command', async () => {
  const { client, startStage } = await createKit();
  const stageId = await startStage(said('First.'));
  await client.state(stageId, 'idle');
  const { sessionId } = (await client.command('get_session', { stageId })).session;
  await client.command('send_message', { stageId, message: `/clear ${said('Not cleared.')}` });
  await expect
    .poll(async () => (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : [])))
    .toEqual(['First.', 'Not cleared.']);
  expect((await client.command('get_session', { stageId })).session.sessionId).toBe(sessionId);
});

it('refuses an empty message and a message to a stage that was never started', async () => {
  const { client } = await createKit();
  const { stage } = await client.command('create_stage', { projectId: 'shop', title: 'A', prompt: 'B' });
  await expect(client.command('send_message', { stageId: stage.id, message: ' ' })).rejects.toMatchObject({
    code: 'bad_request',
  });
  await expect(client.command('send_message', { stageId: stage.id, message: 'x' })).rejects.toMatchObject({
    code: 'no_session',
  });
  await expect(client.command('start_stage', { stageId: 'STAGE-99' })).rejects.toMatchObject({ code: 'unknown_stage' });
});

it('suggests files of the worktree, and Claude reads those that a message names; a prompt names none', async () => {
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
