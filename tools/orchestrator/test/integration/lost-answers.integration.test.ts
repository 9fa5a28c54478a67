import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PendingRequest } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { untilWritten } from '../support/conversation.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { killProcess, livingProcess } from '../support/living-process.ts';

const append = { name: 'Bash', input: { command: 'echo once >> made.txt', description: 'Write it' } };
const question = {
  question: 'Which colour?',
  header: 'Colour',
  multiSelect: false,
  options: ['Red', 'Blue'].map((label) => ({ label, description: label })),
};

type Location = Pick<PendingRequest, 'stageId' | 'requestId' | 'toolUseId'>;

/** Sends the answer into the pipe of a process that no longer reads and is killed: nobody knows whether it took effect. */
async function killWithAnswer(kit: Kit, { stageId, requestId, toolUseId }: Location, answer: () => Promise<unknown>) {
  await untilWritten(kit, stageId, toolUseId); // if the conversation lacked the call, a resume would make it again
  const claude = await livingProcess(kit, stageId);
  process.kill(claude.pid, 'SIGSTOP');
  await answer();
  await kit.client.event('decision-updated', (decision) => decision.delivery === 'written');
  await killProcess(claude);
  return kit.client.event('decision-updated', (d) => d.requestId === requestId && d.delivery === 'unknown');
}

const kitOf = () => createKit({ limits: { confirmationMs: 100 } });

async function made(kit: Kit, stageId: string): Promise<string> {
  const { stage } = await kit.client.command('get_stage', { stageId });
  return join(stage.worktree?.path ?? '', 'made.txt');
}

const columnOf = async (kit: Kit, stageId: string) => (await kit.client.command('get_stage', { stageId })).stage.column;

it('shows the known facts; Retry resumes the session, tells Claude, and the tool asks again', async () => {
  const kit = await kitOf();
  const steps = [{ tools: [append] }, { text: 'I do it again.', tools: [append] }, { text: 'Done.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  const asked = await kit.client.event('approval-requested');
  const { requestId } = asked;
  const lost = await killWithAnswer(kit, asked, () =>
    kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' }),
  );
  expect(lost).toMatchObject({
    outcome: 'allowed',
    by: 'Ada',
    asked: 'Bash echo once >> made.txt',
    settlement: null,
    lost: { writtenAt: expect.any(String), endReason: expect.stringContaining('SIGKILL') },
  });
  await kit.client.state(stageId, 'ended');
  const board = await kit.client.command('get_board');
  expect(board.unsettled).toMatchObject([{ stageId, requestId }]);
  await expect(access(await made(kit, stageId))).rejects.toThrow();
  const sentBefore = kit.model.requests.length;

  const presses = await Promise.allSettled(
    [1, 2].map(() => kit.client.command('retry_decision', { stageId, requestId })),
  );
  expect(presses).toMatchObject([
    { value: { message: { status: 'resumed' }, decision: { settlement: { how: 'retried', by: 'Ada' } } } },
    { reason: { code: 'already_settled', decision: { settlement: { how: 'retried' } } } },
  ]);

  const again = await kit.client.event('approval-requested', (request) => request.requestId !== requestId);
  expect(again).toMatchObject({ toolName: 'Bash', input: append.input });
  const reported = kit.model.requests.slice(sentBefore).map(({ messages }) => JSON.stringify(messages));
  expect(reported.some((messages) => messages.includes('It was allowed') && messages.includes(asked.toolUseId))).toBe(
    true,
  );
  expect((await kit.client.command('get_board')).unsettled).toEqual([]);
  await kit.client.command('approve_tool', { stageId, requestId: again.requestId, decision: 'allow' });
  await kit.client.state(stageId, 'idle');
  expect(await readFile(await made(kit, stageId), 'utf8')).toBe('once\n');
  const users = (await kit.client.transcript(stageId)).filter((entry) => entry.kind === 'user');
  expect(users).toMatchObject([{}, { by: 'Ada', text: expect.stringContaining('Your process ended just after') }]);
});

it('includes the answers to a question', async () => {
  const kit = await kitOf();
  const steps = [{ tools: [{ name: 'AskUserQuestion', input: { questions: [question] } }] }, { text: 'Blue it is.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  const asked = await kit.client.event('question-requested');
  const { requestId } = asked;
  await killWithAnswer(kit, asked, () =>
    kit.client.command('answer_question', { stageId, requestId, answers: { 'Which colour?': 'Blue' } }),
  );
  await kit.client.state(stageId, 'ended');
  await kit.client.command('retry_decision', { stageId, requestId });
  await kit.client.state(stageId, 'idle');
  expect(JSON.stringify(kit.model.requests.at(-1)?.messages)).toContain('\\"Which colour?\\": \\"Blue\\"');
  expect(await columnOf(kit, stageId)).toBe('review');
});

it('needs a person until Dismiss, even if the session continues, and sends nothing automatically', async () => {
  const kit = await kitOf();
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [append] }, { text: 'Never mind.' }] }));
  const asked = await kit.client.event('approval-requested');
  const { requestId } = asked;
  await killWithAnswer(kit, asked, () => kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' }));
  await kit.client.state(stageId, 'ended');
  await kit.client.command('send_message', { stageId, message: 'Go on without it.' });
  await kit.client.state(stageId, 'idle');
  expect(await columnOf(kit, stageId)).toBe('needs-you');
  expect(JSON.stringify(kit.model.requests.at(-1)?.messages)).not.toContain('It was allowed');

  const { decision } = await kit.client.command('dismiss_decision', { stageId, requestId });
  expect(decision).toMatchObject({ delivery: 'unknown', settlement: { how: 'dismissed', by: 'Ada' } });
  expect(await kit.client.command('dismiss_decision', { stageId, requestId })).toEqual({ decision });
  expect(await columnOf(kit, stageId)).toBe('review');
  await expect(kit.client.command('retry_decision', { stageId, requestId })).rejects.toMatchObject({
    code: 'already_settled',
    decision: { settlement: { how: 'dismissed' } },
  });
  const { decisions } = await kit.client.command('get_decisions', { stageId });
  expect(decisions).toEqual([expect.objectContaining(decision)]);
  await expect(access(await made(kit, stageId))).rejects.toThrow();
});

it('still offers Retry and Dismiss after a full restart if the process had died meanwhile', async () => {
  const kit = await createKit({ where: 'apart' });
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [append] }, { text: 'Done.' }] }));
  const { requestId } = await kit.client.event('approval-requested');
  const claude = await livingProcess(kit, stageId);
  process.kill(claude.pid, 'SIGSTOP');
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await kit.client.event('decision-updated', (decision) => decision.delivery === 'written');
  await kit.kill();
  await killProcess(claude);
  await kit.start();
  expect(kit.client.init.data).toMatchObject({
    stages: [{ column: 'needs-you' }],
    unsettled: [{ requestId, lost: { writtenAt: expect.any(String) } }],
  });
  await kit.client.command('dismiss_decision', { stageId, requestId });
  await kit.stop();
  await kit.start();
  expect(kit.client.init.data.unsettled).toEqual([]);
});
