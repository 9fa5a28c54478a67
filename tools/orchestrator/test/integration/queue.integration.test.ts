import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit, type Kit } from '../support/kit.ts';

const said = (text: string) => prompt({ steps: [{ text }] });
const ask = { name: 'Bash', input: { command: 'touch a.txt', description: 'Make it' } };

const texts = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));

it('steers a message into the running turn, which reads it at its next step', async () => {
  const kit = await createKit();
  const { client, model } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [ask] }, { text: 'Heard you.' }] }));
  const { requestId } = await client.event('approval-requested');
  const sent = await client.command('send_message', { stageId, message: 'Mind the gap', mode: 'steer' });
  expect(sent.status).toBe('sent');
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('Mind the gap');
  expect(await texts(kit, stageId)).toEqual(['Heard you.']);
  expect((await client.transcript(stageId)).filter((entry) => entry.kind === 'turn-end')).toHaveLength(1);
});

it('sends a message now by interrupting, reorders the queue, and takes back a steered message that an interrupt left unread', async () => {
  const kit = await createKit();
  const { client, model } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'never', gate: 'shut' }] }));
  await model.waitForRequest((request) => request.kind === 'script');
  await client.command('send_message', { stageId, message: said('Later.') });
  const now = await client.command('send_message', { stageId, message: said('At once.'), mode: 'now' });
  expect(now.status).toBe('sent');
  await expect.poll(() => texts(kit, stageId)).toEqual(['At once.', 'Later.']);
  await client.state(stageId, 'idle');

  // Words that stand in no prompt of Claude Code's own: once Claude has read it, an interrupt does not take the message back.
  const begin = async (name: string) => {
    const message = prompt({ steps: [{ text: name, gate: name }] }, name);
    await client.command('send_message', { stageId, message });
    await model.waitForRequest((request) => JSON.stringify(request.messages).includes(name));
  };
  await begin('turn-one-begins');
  const [a, b, c] = await Promise.all(
    ['A.', 'B.', 'C.'].map((text) => client.command('send_message', { stageId, message: said(text) })),
  );
  await client.command('edit_queued', { stageId, messageId: c?.messageId, patch: { place: 0 } });
  await client.command('edit_queued', { stageId, messageId: a?.messageId, patch: { place: 99 } });
  const { queue } = await client.command('get_queue', { stageId });
  expect(queue.map(({ messageId }) => messageId)).toEqual([c?.messageId, b?.messageId, a?.messageId]);
  await client.command('send_queued', { stageId, messageId: b?.messageId, mode: 'now' });
  await expect.poll(() => texts(kit, stageId)).toEqual(['At once.', 'Later.', 'B.', 'C.', 'A.']);
  await client.state(stageId, 'idle');

  await begin('turn-two-begins');
  await client.command('send_message', { stageId, message: 'Not read', mode: 'steer' });
  await client.event('message-sent', ({ text }) => text === 'Not read');
  await client.command('interrupt', { stageId });
  await client.state(stageId, 'idle');
  await expect
    .poll(async () => (await client.command('get_queue', { stageId })).queue.map(({ text }) => text))
    .toEqual(['Not read']);
});

it('sends images and files as content blocks, and runs a command of Claude Code when a person chose it', async () => {
  const { client, startStage, model } = await createKit();
  const stageId = await startStage(said('First.'));
  await client.state(stageId, 'idle');
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const attachments = [
    { name: 'dot.png', mediaType: 'image/png', dataBase64: pixel },
    { name: 'notes.txt', mediaType: 'text/plain', dataBase64: Buffer.from('Größe: ∞').toString('base64') },
  ];
  await client.command('send_message', { stageId, message: said('Seen.'), attachments });
  await client.event('session-updated', (session) => session.lastTurn !== null && session.state === 'busy');
  await client.state(stageId, 'idle');
  const sent = JSON.stringify(model.requests.at(-1)?.messages);
  expect(sent).toContain('image/png');
  expect(sent).toContain('Größe: ∞');
  const entry = (await client.transcript(stageId)).find((e) => e.kind === 'user' && e.attachments.length > 0);
  expect(entry).toMatchObject({ attachments: [{ name: 'dot.png', mediaType: 'image/png' }, { name: 'notes.txt' }] });
  const bad = { name: 'x.exe', mediaType: 'application/x-msdownload', dataBase64: 'AAAA' };
  await expect(client.command('send_message', { stageId, message: 'x', attachments: [bad] })).rejects.toMatchObject({
    code: 'bad_request',
  });

  const { sessionId } = (await client.command('get_session', { stageId })).session;
  await client.command('send_message', { stageId, message: '/clear', isCommand: true });
  await expect
    .poll(async () => (await client.command('get_session', { stageId })).session.sessionId)
    .not.toBe(sessionId);
  await client.state(stageId, 'idle');
});
