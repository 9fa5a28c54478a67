import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt, type Script } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { QUESTIONS } from '../../../../test-support/questions.ts';
import { createKit, type Kit } from '../support/kit.ts';

const append = (file: string, word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> ${file}`, description: `Write ${word}` },
});

/** One conversation, in which each turn makes one request after another. */
async function converse({ client, startStage, model }: Kit, first: Script, fields = {}) {
  const seen = new Set<string>();
  const stageId = await startStage(prompt(first), fields);
  const { stage } = await client.command('get_stage', { stageId });
  return {
    stageId,
    inWorktree: (name: string) => join(stage.worktree?.path ?? '', name),
    /** All that the newest request to the model contains, tool results included. */
    told: () => JSON.stringify((model.requests.at(-1) ?? { messages: [] }).messages),
    say: (script: Script) => client.command('send_message', { stageId, message: prompt(script) }),
    async next(type: 'approval-requested' | 'question-requested' | 'plan-requested') {
      const request = await client.event(type, ({ requestId }) => !seen.has(requestId));
      seen.add(request.requestId);
      return request;
    },
  };
}

it('gives Claude each answer as it was given: a plan, a denial, one allowance, a changed input', async () => {
  const kit = await createKit();
  const { client } = kit;
  const exit = { name: 'ExitPlanMode', input: {} };
  const planning = { steps: [{ tools: [exit] }, { text: 'Once more.', tools: [exit] }, { text: 'Off I go.' }] };
  const { stageId, inWorktree, told, say, next } = await converse(kit, planning, { permissionMode: 'plan' });
  const approve = (fields: object) => client.command('approve_tool', { stageId, ...fields });

  // A plan is sent back with comments, and accepted with the mode that follows it.
  const first = await next('plan-requested');
  await approve({ requestId: first.requestId, decision: 'deny', reason: 'Smaller steps' });
  const second = await next('plan-requested');
  const updatedPermissions = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }];
  await approve({ requestId: second.requestId, decision: 'allow', updatedPermissions });
  await client.state(stageId, 'idle');
  expect((await client.command('get_session', { stageId })).session.mode).toBe('acceptEdits');
  expect(told()).toContain('Smaller steps');
  await client.command('set_mode', { stageId, mode: 'default' });

  // A denied tool does not run, and the model reads the reason.
  await say({ steps: [{ tools: [append('denied.txt', 'x')] }, { text: 'I see.' }] });
  const denied = await next('approval-requested');
  const reason = 'Use a "table" instead; not a file.';
  const denial = await approve({ requestId: denied.requestId, decision: 'deny', reason });
  expect(denial).toMatchObject({ decision: { outcome: 'denied', reason, delivery: 'confirmed' } });
  await client.state(stageId, 'idle');
  expect(told()).toContain(JSON.stringify(reason).slice(1, -1));
  await expect(access(inWorktree('denied.txt'))).rejects.toThrow();

  // An allowed tool runs exactly once, and a second answer is told which decision stands.
  await say({ steps: [{ tools: [append('made.txt', 'once')] }, { text: 'Done.' }] });
  const { requestId } = await next('approval-requested');
  const answers = await Promise.allSettled(
    ['allow', 'deny', 'allow'].map((decision) => approve({ requestId, decision })),
  );
  expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(answers[1]).toMatchObject({
    reason: { code: 'already_decided', decision: { outcome: 'allowed', by: 'Ada', requestId } },
  });
  await client.state(stageId, 'idle');
  expect(await readFile(inWorktree('made.txt'), 'utf8')).toBe('once\n');

  // The input that a person changed runs instead of the original.
  await say({ steps: [{ tools: [append('changed.txt', 'theirs')] }, { text: 'Done.' }] });
  const changed = await next('approval-requested');
  const updatedInput = { command: 'echo ours >> changed.txt', description: 'Write ours' };
  await approve({ requestId: changed.requestId, decision: 'allow', updatedInput });
  await client.state(stageId, 'idle');
  expect(await readFile(inWorktree('changed.txt'), 'utf8')).toBe('ours\n');
});

it('keeps three parallel requests in each of two stages apart', async () => {
  const { client, startStage, folder, model } = await createKit();
  const outside = join(folder, 'outside');
  await mkdir(outside);
  const stages: { stageId: string; text: string[] }[] = [];
  for (const stage of ['a', 'b']) {
    const text = [1, 2, 3].map((n) => `${stage}${n}-content`);
    const tools = await Promise.all(
      text.map(async (word) => {
        await writeFile(join(outside, word), word);
        return { name: 'Read', input: { file_path: join(outside, word) } };
      }),
    );
    stages.push({ stageId: await startStage(prompt({ steps: [{ tools }, { text: `${stage} done.` }] })), text });
  }
  const allSix = async () => {
    for (const { stageId, text } of stages) {
      for (const word of text) {
        await client.event(
          'approval-requested',
          (r) => r.stageId === stageId && r.input.file_path === join(outside, word),
        );
      }
    }
  };
  await allSix();
  expect((await client.command('get_pending')).pending).toHaveLength(6);

  // An answer counts for its own stage and for a request that is there.
  const [mine, other] = stages.map(({ stageId }) => stageId);
  const { requestId } = await client.event('approval-requested', (request) => request.stageId === mine);
  const allow = (stageId: string | undefined, id: string) =>
    client.command('approve_tool', { stageId, requestId: id, decision: 'allow' });
  await expect(allow(other, requestId)).rejects.toMatchObject({ code: 'unknown_request' });
  await expect(allow(mine, 'no-such-request')).rejects.toMatchObject({ code: 'unknown_request' });
  await expect(client.command('answer_question', { stageId: mine, requestId, answers: {} })).rejects.toMatchObject({
    code: 'wrong_kind',
  });

  // Answers come in an arbitrary order; every second request is denied with its own name as the reason.
  const { pending } = await client.command('get_pending');
  expect(pending).toHaveLength(6);
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
    const reported = (await client.transcript(request.stageId)).find(
      (entry) => entry.kind === 'tool-result' && entry.toolUseId === request.toolUseId,
    );
    expect(reported).toMatchObject(
      index % 2 === 0
        ? { isError: false, text: expect.stringContaining(word) }
        : { isError: true, text: `not ${path}` },
    );
  }
  expect(model.requests.length).toBeGreaterThanOrEqual(4);
});

it('answers questions with labels and free text, refuses incomplete answers, and tells Claude why a person declines', async () => {
  const kit = await createKit();
  const { client } = kit;
  const ask = (questions: readonly object[]) => ({ name: 'AskUserQuestion', input: { questions } });
  const asking = { steps: [{ tools: [ask(QUESTIONS)] }, { text: 'Thanks.' }] };
  const { stageId, told, say, next } = await converse(kit, asking);
  const { requestId, kind } = await next('question-requested');
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
  expect(told()).toContain('something of my own');
  expect(told()).toContain('Search, Export');

  const options = ['SQLite', 'PostgreSQL'].map((label) => ({ label, description: label }));
  const question = { question: 'Which database?', header: 'Database', multiSelect: false, options };
  await say({ steps: [{ tools: [ask([question])] }, { text: 'I choose then.' }] });
  const declined = await next('question-requested');
  const reason = 'You know better';
  const denial = { stageId, requestId: declined.requestId, decision: 'deny', reason };
  expect(await client.command('approve_tool', denial)).toMatchObject({
    decision: { outcome: 'denied', kind: 'question', reason, delivery: 'confirmed' },
  });
  await client.state(stageId, 'idle');
  expect(told()).toContain('The user declined to answer. The reason given: You know better');
});

it('names the mode that a stage worked in before it planned', async () => {
  const { client, startStage } = await createKit();
  const exit = { name: 'ExitPlanMode', input: { plan: '# Plan' } };
  const stageId = await startStage(prompt({ steps: [{ text: 'Hello.' }] }), { permissionMode: 'acceptEdits' });
  await client.state(stageId, 'idle');
  await client.command('set_mode', { stageId, mode: 'plan' });
  await client.event('mode-changed', ({ mode }) => mode === 'plan');
  await client.command('stop_stage', { stageId }); // also in another process
  await client.command('send_message', { stageId, message: prompt({ steps: [{ tools: [exit] }, { text: 'Done.' }] }) });
  const asked = await client.event('plan-requested');
  expect(asked).toMatchObject({ modeBefore: 'acceptEdits', agent: null, parentAgent: null });
});

it('names the agent that asks, and the one that started it', async () => {
  const { client, startStage } = await createKit();
  const agent = (description: string, steps: object[]) => ({
    name: 'Agent',
    input: { description, prompt: prompt({ steps }, `Do ${description}`), subagent_type: 'general-purpose' },
  });
  const asks = { tools: [{ name: 'Bash', input: { command: 'touch inner', description: 'Touch' } }] };
  const inner = agent('the inner part', [asks, { text: 'Done.' }]);
  const outer = agent('the outer part', [{ tools: [inner] }, { text: 'Done.' }]);
  await startStage(prompt({ steps: [{ tools: [outer] }, { text: 'Started.' }] }));
  const asked = await client.event('approval-requested');
  expect(asked).toMatchObject({ agent: 'the inner part', parentAgent: 'the outer part' });
});
