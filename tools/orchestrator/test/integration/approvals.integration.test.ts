import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { QUESTIONS } from '../../../../test-support/questions.ts';
import { createKit } from '../support/kit.ts';

const append = (file: string, word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> ${file}`, description: `Write ${word}` },
});

/** Returns all tool result text in the newest request to the model. */
const toolResults = (request: { messages: unknown }) => JSON.stringify(request.messages);

it('denies a tool with a reason that the model reads; the tool does not run', async () => {
  const { client, startStage, model } = await createKit();
  const stageId = await startStage(prompt({ steps: [{ tools: [append('made.txt', 'x')] }, { text: 'I see.' }] }));
  const { requestId } = await client.event('approval-requested');
  const reason = 'Use a "table" instead; not a file.';
  const reply = await client.command('approve_tool', { stageId, requestId, decision: 'deny', reason });
  expect(reply).toMatchObject({ decision: { outcome: 'denied', reason, delivery: 'confirmed' } });
  await client.state(stageId, 'idle');
  expect(toolResults(model.requests.at(-1) ?? { messages: [] })).toContain(JSON.stringify(reason).slice(1, -1));
  const { stage } = await client.command('get_stage', { stageId });
  await expect(access(join(stage.worktree?.path ?? '', 'made.txt'))).rejects.toThrow();
});

it('runs an allowed tool exactly once, and tells a second answer which decision stands', async () => {
  const { client, startStage } = await createKit();
  const stageId = await startStage(prompt({ steps: [{ tools: [append('made.txt', 'once')] }, { text: 'Done.' }] }));
  const { requestId } = await client.event('approval-requested');
  const answers = await Promise.allSettled(
    ['allow', 'deny', 'allow'].map((decision) => client.command('approve_tool', { stageId, requestId, decision })),
  );
  expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(answers[1]).toMatchObject({
    reason: { code: 'already_decided', decision: { outcome: 'allowed', by: 'Ada', requestId } },
  });
  await client.state(stageId, 'idle');
  const { stage } = await client.command('get_stage', { stageId });
  expect(await readFile(join(stage.worktree?.path ?? '', 'made.txt'), 'utf8')).toBe('once\n');
});

it('runs the input that a person changed instead of the original', async () => {
  const { client, startStage } = await createKit();
  const stageId = await startStage(prompt({ steps: [{ tools: [append('made.txt', 'theirs')] }, { text: 'Done.' }] }));
  const { requestId } = await client.event('approval-requested');
  const updatedInput = { command: 'echo ours >> made.txt', description: 'Write ours' };
  await client.command('approve_tool', { stageId, requestId, decision: 'allow', updatedInput });
  await client.state(stageId, 'idle');
  const { stage } = await client.command('get_stage', { stageId });
  expect(await readFile(join(stage.worktree?.path ?? '', 'made.txt'), 'utf8')).toBe('ours\n');
});

it('rejects a request id of another stage and an unknown request id', async () => {
  const { client, startStage } = await createKit();
  const script = prompt({ steps: [{ tools: [append('made.txt', 'x')] }, { text: 'Done.' }] });
  const first = await startStage(script);
  const second = await startStage(script);
  const { requestId } = await client.event('approval-requested', (request) => request.stageId === first);
  await client.event('approval-requested', (request) => request.stageId === second);
  const allow = (stageId: string, id: string) =>
    client.command('approve_tool', { stageId, requestId: id, decision: 'allow' });
  await expect(allow(second, requestId)).rejects.toMatchObject({ code: 'unknown_request' });
  await expect(allow(first, 'no-such-request')).rejects.toMatchObject({ code: 'unknown_request' });
  await expect(client.command('answer_question', { stageId: first, requestId, answers: {} })).rejects.toMatchObject({
    code: 'wrong_kind',
  });
  expect((await client.command('get_pending')).pending).toHaveLength(2);
});

it('keeps three parallel requests in each of two stages apart', async () => {
  const { client, startStage, folder, model } = await createKit();
  const outside = join(folder, 'outside');
  await mkdir(outside);
  const stages: { stageId: string; words: string[] }[] = [];
  for (const stage of ['a', 'b']) {
    const words = [1, 2, 3].map((n) => `${stage}${n}-content`);
    const tools = await Promise.all(
      words.map(async (word) => {
        await writeFile(join(outside, word), word);
        return { name: 'Read', input: { file_path: join(outside, word) } };
      }),
    );
    stages.push({ stageId: await startStage(prompt({ steps: [{ tools }, { text: `${stage} done.` }] })), words });
  }
  const allSix = async () => {
    for (const { stageId, words } of stages) {
      for (const word of words) {
        await client.event(
          'approval-requested',
          (r) => r.stageId === stageId && r.input.file_path === join(outside, word),
        );
      }
    }
  };
  await allSix();
  expect((await client.command('get_pending')).pending).toHaveLength(6);

  // Answers come in an arbitrary order; every second request is denied with its own name as the reason.
  const { pending } = await client.command('get_pending');
  const mixed = pending.toSorted((a, b) => a.requestId.localeCompare(b.requestId));
  await Promise.all(
    mixed.map(({ stageId, requestId, input }, index) => {
      const answer =
        index % 2 === 0 ? { decision: 'allow' } : { decision: 'deny', reason: `not ${String(input.file_path)}` };
      return client.command('approve_tool', { stageId, requestId, ...answer });
    }),
  );
  for (const { stageId } of stages) await client.state(stageId, 'idle');
  for (const [index, request] of mixed.entries()) {
    const path = String(request.input.file_path);
    const word = path.slice(outside.length + 1);
    const told = (await client.transcript(request.stageId)).find(
      (entry) => entry.kind === 'tool-result' && entry.toolUseId === request.toolUseId,
    );
    expect(told).toMatchObject(
      index % 2 === 0
        ? { isError: false, text: expect.stringContaining(word) }
        : { isError: true, text: `not ${path}` },
    );
  }
  expect(model.requests.length).toBeGreaterThanOrEqual(4);
});

it('accepts labels and free text as answers to a question, and refuses incomplete answers', async () => {
  const { client, startStage, model } = await createKit();
  const stageId = await startStage(
    prompt({ steps: [{ tools: [{ name: 'AskUserQuestion', input: { questions: QUESTIONS } }] }, { text: 'Thanks.' }] }),
  );
  const { requestId, kind } = await client.event('question-requested');
  expect(kind).toBe('question');
  const answer = (answers: Record<string, string>) =>
    client.command('answer_question', { stageId, requestId, answers });
  await expect(answer({ 'Which database?': 'SQLite' })).rejects.toMatchObject({ code: 'bad_request' });
  await expect(answer({ 'Which database?': 'SQLite', 'Which features come first?': ' ' })).rejects.toMatchObject({
    code: 'bad_request',
  });
  await expect(answer({ Database: 'SQLite', 'Which features come first?': 'Search' })).rejects.toMatchObject({
    code: 'bad_request',
  });
  await expect(client.command('approve_tool', { stageId, requestId, decision: 'allow' })).rejects.toMatchObject({
    code: 'wrong_kind',
  });
  const reply = await answer({
    'Which database?': 'something of my own',
    'Which features come first?': 'Search, Export',
  });
  expect(reply).toMatchObject({ decision: { outcome: 'answered', delivery: 'confirmed' } });
  await client.state(stageId, 'idle');
  const told = toolResults(model.requests.at(-1) ?? { messages: [] });
  expect(told).toContain('something of my own');
  expect(told).toContain('Search, Export');
});

it('tells Claude that a person declined to answer, with the reason', async () => {
  const { client, startStage, model } = await createKit();
  const options = ['SQLite', 'PostgreSQL'].map((label) => ({ label, description: label }));
  const questions = [{ question: 'Which database?', header: 'Database', multiSelect: false, options }];
  const stageId = await startStage(
    prompt({ steps: [{ tools: [{ name: 'AskUserQuestion', input: { questions } }] }, { text: 'I choose then.' }] }),
  );
  const { requestId } = await client.event('question-requested');
  const reason = 'You know better';
  const reply = await client.command('approve_tool', { stageId, requestId, decision: 'deny', reason });
  expect(reply).toMatchObject({ decision: { outcome: 'denied', kind: 'question', reason, delivery: 'confirmed' } });
  await client.state(stageId, 'idle');
  const told = toolResults(model.requests.at(-1) ?? { messages: [] });
  expect(told).toContain('The user declined to answer. The reason given: You know better');
});

it('accepts a plan with the mode that follows it, and sends another plan back with comments', async () => {
  const { client, startStage, model } = await createKit();
  const exit = { name: 'ExitPlanMode', input: {} };
  const script = {
    steps: [{ tools: [exit] }, { text: 'Once more.', tools: [exit] }, { text: 'Off I go.' }],
  };
  const stageId = await startStage(prompt(script), { permissionMode: 'plan' });
  const first = await client.event('plan-requested');
  await client.command('approve_tool', {
    stageId,
    requestId: first.requestId,
    decision: 'deny',
    reason: 'Smaller steps',
  });
  const second = await client.event('plan-requested', ({ requestId }) => requestId !== first.requestId);
  const updatedPermissions = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }];
  await client.command('approve_tool', { stageId, requestId: second.requestId, decision: 'allow', updatedPermissions });
  await client.state(stageId, 'idle');
  expect((await client.command('get_session', { stageId })).session.mode).toBe('acceptEdits');
  expect(toolResults(model.requests.at(-1) ?? { messages: [] })).toContain('Smaller steps');
});
