import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { answerNext } from '../support/forge.ts';
import { createKit, type Kit } from '../support/kit.ts';

const bash = (command: string, id?: string) => ({ tools: [{ name: 'Bash', input: { command }, id }] });

const worktreeOf = async ({ client }: Kit, stageId: string) =>
  (await client.command('get_stage', { stageId })).stage.worktree?.path ?? '';

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** Allows what the stage asks for, one request after another, in words that are in its input. */
async function allowAsked({ client }: Kit, stageId: string, words: string): Promise<void> {
  const isIt = (request: { stageId: string; input: unknown }) =>
    request.stageId === stageId && JSON.stringify(request.input).includes(words);
  const { requestId } = await client.event('approval-requested', isIt);
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
}

it('puts a session under alarm whose request a script has answered, and lets nothing go on before it is acknowledged', async () => {
  const kit = await createKit({ where: 'apart' });
  const steps = [bash(`touch one; ${answerNext('toolu_next')}`), bash('touch two', 'toolu_next'), { text: 'Done.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  await allowAsked(kit, stageId, 'touch one');
  const alarm = await kit.alarm(stageId);
  expect(alarm).toMatchObject({ code: 'foreign-answer' });
  expect(alarm.detail).toContain('Look at the last steps');
  await kit.client.state(stageId, 'ended');
  const board = await kit.client.command('get_board');
  expect(board.stages.find(({ id }) => id === stageId)).toMatchObject({ column: 'needs-you' });

  await kit.kill();
  await kit.start('here');
  const { client } = kit;
  const refused = { code: 'session_alarm' };
  await expect(client.command('start_stage', { stageId })).rejects.toMatchObject(refused);
  await expect(client.command('complete_stage', { stageId })).rejects.toMatchObject(refused);
  const message = 'What was that?';
  expect(await client.command('send_message', { stageId, message })).toMatchObject({ status: 'queued' });
  await expect(client.command('release_queue', { stageId })).rejects.toMatchObject(refused);
  expect(await client.command('get_session', { stageId })).toMatchObject({
    session: { state: 'ended', alarm, queue: [{ text: message }] },
  });

  const { session } = await client.command('acknowledge_alarm', { stageId });
  expect(session).toMatchObject({ state: 'ended', alarm: null, queueHeld: true });
  await expect(client.command('acknowledge_alarm', { stageId })).rejects.toMatchObject({ code: 'no_alarm' });
  await client.command('release_queue', { stageId });
  await client.state(stageId, 'idle');
  const told = (await client.transcript(stageId)).filter(({ kind }) => kind === 'user');
  expect(told.at(-1)).toMatchObject({ text: message });
  const acknowledged = { code: 'alarm-acknowledged', text: expect.stringContaining('Ada') };
  expect(await client.transcript(stageId)).toContainEqual(expect.objectContaining(acknowledged));
  expect(await isThere(join(await worktreeOf(kit, stageId), 'one'))).toBe(true);
});
