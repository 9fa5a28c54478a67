import { readFile, writeFile } from 'node:fs/promises';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { conversationFile } from '../support/conversation.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { livingProcess } from '../support/living-process.ts';

/**
 * `claude` reports that it has read a message a moment before it writes the message into its conversation. A SIGKILL in
 * between loses the message; this must be reported even if a person ends the turn at the same moment.
 */
const LOST = '<the lost message>';

/**
 * Creates a session whose process was stopped when the model was asked about `LOST`, before the process had written that
 * down, and then got this signal.
 */
async function cutOff(signal: NodeJS.Signals, limits = {}): Promise<Kit & { stageId: string }> {
  const kit = await createKit({ limits });
  const { client, model } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.' }] }));
  await client.state(stageId, 'idle');
  const { pid } = await livingProcess(kit, stageId);
  const asked = model.waitForRequest(({ messages }) => JSON.stringify(messages).includes(LOST));
  const message = prompt({ steps: [{ text: 'Never.', hangs: true }] }, LOST);
  const { messageId } = await client.command('send_message', { stageId, message });
  await asked;
  process.kill(pid, 'SIGSTOP');
  const file = await conversationFile(kit, stageId);
  const lines = (await readFile(file, 'utf8')).split('\n');
  await writeFile(file, lines.filter((line) => !line.includes(messageId) && !line.includes(LOST)).join('\n'));
  process.kill(pid, signal);
  return { ...kit, stageId };
}

const notices = async ({ client, stageId }: Kit & { stageId: string }) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'notice' ? [entry] : []));

const notifyCount = ({ model }: Kit, text: string): number =>
  JSON.stringify(model.requests.findLast(({ kind }) => kind === 'script')?.messages).split(text).length - 1;

/** Either Claude knows about the message by now, or the transcript says that it does not. */
async function requireAccounted(kit: Kit & { stageId: string }): Promise<void> {
  const { client, stageId } = kit;
  await client.state(stageId, 'ended').catch(() => undefined);
  const reported = (await notices(kit)).find(({ code }) => code === 'message-unknown');
  await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Second.' }] }, '<next>') });
  await expect
    .poll(async () => (await client.transcript(stageId)).some((e) => e.kind === 'text' && e.text === 'Second.'))
    .toBe(true);
  if (notifyCount(kit, LOST) === 0) expect(reported?.text).toContain(LOST);
  else expect(reported).toBeUndefined();
}

it('reports, without blaming anyone, that Claude does not know a message whose process was killed before an interrupt', async () => {
  const kit = await cutOff('SIGKILL');
  const { client, stageId } = kit;
  await client.command('interrupt', { stageId }).then(
    () => expect.unreachable('there was no process to interrupt'),
    (error: unknown) => expect(error).toMatchObject({ code: 'not_running' }),
  );
  const text = (await notices(kit)).map(({ text }) => text).join('\n');
  expect(text).not.toContain('did not');
  expect(text).toContain('SIGKILL');
  await requireAccounted(kit);
});

it('reports it when the session is stopped', async () => {
  const kit = await cutOff('SIGKILL');
  const { client, stageId } = kit;
  await client.command('stop_stage', { stageId }).catch(() => undefined);
  await client.state(stageId, 'ended');
  await requireAccounted(kit);
});

it('reports it when another message is sent now, and delivers that message', async () => {
  const kit = await cutOff('SIGKILL');
  const { client, stageId } = kit;
  const now = prompt({ steps: [{ text: 'Second.' }] }, '<now>');
  const reply = await client.command('send_message', { stageId, message: now, mode: 'now' });
  expect(['sent', 'resumed']).toContain(reply.status);
  await expect
    .poll(async () => (await client.transcript(stageId)).some((e) => e.kind === 'text' && e.text === 'Second.'))
    .toBe(true);
  const reported = (await notices(kit)).find(({ code }) => code === 'message-unknown');
  if (notifyCount(kit, LOST) === 0) expect(reported?.text).toContain(LOST);
});

it('reports it when an unresponsive process is ended for an interrupt', async () => {
  const kit = await cutOff('SIGSTOP', { graces: { interruptMs: 200, endSessionMs: 200, signalMs: 500 } });
  const { client, stageId } = kit;
  const { session } = await client.command('interrupt', { stageId });
  expect(session.state).toBe('ended');
  expect((await notices(kit)).map(({ text }) => text).join('\n')).toContain('did not react to the interrupt');
  await requireAccounted(kit);
});
