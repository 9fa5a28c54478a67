import { readFile, writeFile } from 'node:fs/promises';
import type { MessageId } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { conversationFile, untilWritten } from '../support/conversation.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { livingProcess } from '../support/living-process.ts';

const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });
const said = (text: string) => prompt({ steps: [{ text }] });

const texts = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));

async function killClaude(kit: Kit, stageId: string): Promise<void> {
  process.kill((await livingProcess(kit, stageId)).pid, 'SIGKILL');
  await kit.client.state(stageId, 'ended');
}

/** How often the newest request to the model contains the text. */
const notifyCount = ({ model }: Kit, text: string): number =>
  JSON.stringify(model.requests.findLast(({ kind }) => kind === 'script')?.messages).split(text).length - 1;

/** Removes a message and everything after it from the conversation, as a kill does that comes before they are written. */
async function forget(file: string, messageId: MessageId): Promise<void> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  const from = lines.findIndex((line) => line.includes(`"uuid":"${messageId}"`));
  expect(from).toBeGreaterThan(0);
  await writeFile(file, `${lines.slice(0, from).join('\n')}\n`);
}

it('tells Claude once about a message that was folded into a turn whose process died', async () => {
  const kit = await createKit();
  const { client } = kit;
  const stageId = await kit.startStage(prompt({ steps: [bash('touch a'), bash('touch b'), { text: 'Done.' }] }));
  const { requestId } = await client.event('approval-requested');
  const { messageId } = await client.command('send_message', { stageId, message: '<by the way>', mode: 'steer' });
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.event('approval-requested', (request) => request.requestId !== requestId);
  await untilWritten(kit, stageId, 'touch b'); // the call that followed the message, so the message is written as well
  expect(await readFile(await conversationFile(kit, stageId), 'utf8')).toContain(`"source_uuid":"${messageId}"`);
  await killClaude(kit, stageId);
  await client.command('start_stage', { stageId });
  await expect.poll(() => texts(kit, stageId)).toEqual(['Done.']);
  expect(notifyCount(kit, '<by the way>')).toBe(1);
});

it('tells Claude once about messages that were joined into one turn whose process died', async () => {
  const kit = await createKit();
  const { client, model } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.', gate: 'go' }] }));
  await model.waitForRequest(({ kind }) => kind === 'script');
  const steer = (message: string) => client.command('send_message', { stageId, message, mode: 'steer' });
  await steer('<one>');
  await steer(prompt({ steps: [bash('touch b'), { text: 'Second.' }] }, '<two>'));
  // Only what is there when the turn ends is joined: on a busy machine, Claude reads its input a moment later.
  for (const text of ['<one>', '<two>']) await untilWritten(kit, stageId, text);
  model.release('go');
  await client.event('approval-requested');
  expect((await client.command('get_queue', { stageId })).queue).toEqual([]);
  await untilWritten(kit, stageId, 'touch b');
  await killClaude(kit, stageId);
  await client.command('start_stage', { stageId });
  await expect.poll(() => texts(kit, stageId)).toEqual(['First.', 'Second.']);
  expect([notifyCount(kit, '<one>'), notifyCount(kit, '<two>')]).toEqual([1, 1]);
});

it('repeats to Claude the message that its process had not written down, then sends the newer ones, one turn each', async () => {
  const kit = await createKit();
  const { client } = kit;
  const stageId = await kit.startStage(said('First.'));
  await client.state(stageId, 'idle');
  const script = { steps: [bash('touch a'), { text: 'Second.' }] };
  const lost = await client.command('send_message', { stageId, message: prompt(script, '<lost>') });
  const asked = await client.event('approval-requested');
  await untilWritten(kit, stageId, `"uuid":"${lost.messageId}"`);
  const file = await conversationFile(kit, stageId);
  process.kill((await livingProcess(kit, stageId)).pid, 'SIGSTOP'); // prevents further writes
  await forget(file, lost.messageId);
  await killClaude(kit, stageId);
  await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Third.' }] }, '<next>') });
  const again = await client.event('approval-requested', ({ requestId }) => requestId !== asked.requestId);
  expect([notifyCount(kit, '<lost>'), notifyCount(kit, '<next>')]).toEqual([1, 0]);
  await client.command('approve_tool', { stageId, requestId: again.requestId, decision: 'allow' });
  await expect.poll(() => texts(kit, stageId)).toEqual(['First.', 'Second.', 'Third.']);
  await client.state(stageId, 'idle');
  expect([notifyCount(kit, '<lost>'), notifyCount(kit, '<next>')]).toEqual([1, 1]);
  const entries = await client.transcript(stageId);
  expect(entries.filter(({ kind }) => kind === 'turn-end')).toHaveLength(3);
  expect(entries).toContainEqual(expect.objectContaining({ kind: 'notice', code: 'told-again' }));
  expect(entries.filter(({ kind }) => kind === 'user')).toHaveLength(3);
});
