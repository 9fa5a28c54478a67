import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'Do it' } });
const rule = (ruleContent: string) => ({
  type: 'addRules',
  behavior: 'allow',
  destination: 'localSettings',
  rules: [{ toolName: 'Bash', ruleContent }],
});

it('keeps an always-allow rule for the project, gives it to every launch, lists it and revokes it', async () => {
  const { client, startStage } = await createKit();
  const twice = prompt({ steps: [{ tools: [bash('touch one')] }, { tools: [bash('touch two')] }, { text: 'Done.' }] });
  const first = await startStage(twice);
  const { requestId } = await client.event('approval-requested');
  const updatedPermissions = [rule('touch *')];
  await client.command('approve_tool', {
    stageId: first,
    requestId,
    decision: 'allow',
    updatedPermissions,
    remember: 'project',
  });
  await client.state(first, 'idle'); // the second call needed no request
  const { stage } = await client.command('get_stage', { stageId: first });
  await expect(readFile(join(stage.worktree?.path ?? '', '.claude', 'settings.local.json'))).rejects.toThrow();

  const second = await startStage(twice);
  await client.state(second, 'idle');
  expect(client.events.filter((event) => event.type === 'approval-requested')).toHaveLength(1);

  const { rules } = await client.command('get_rules', { projectId: 'shop' });
  expect(rules).toMatchObject([{ scope: 'project', kind: 'allow', rule: 'Bash(touch *)', by: 'Ada' }]);
  await client.command('remove_rule', { ruleId: rules[0]?.ruleId });
  await startStage(twice);
  await client.event('approval-requested', (request) => request.requestId !== requestId);
});

it('keeps a rule for its stage only, on request and by default, even after its process ended', async () => {
  const { client, startStage } = await createKit();
  const script = (file: string) => prompt({ steps: [{ tools: [bash(`touch ${file}`)] }, { text: 'Done.' }] });
  for (const remember of [{ remember: 'stage' }, {}]) {
    // The rule of the one stage answers nothing in the next.
    const stageId = await startStage(script('one'));
    const { requestId } = await client.event('approval-requested', (request) => request.stageId === stageId);
    const updatedPermissions = [rule('touch *')];
    await client.command('approve_tool', { stageId, requestId, decision: 'allow', updatedPermissions, ...remember });
    await client.state(stageId, 'idle');
    await client.command('stop_stage', { stageId });
    await client.command('send_message', { stageId, message: script('two') });
    await client.event('session-updated', (s) => s.stageId === stageId && s.state === 'busy' && s.lastTurn !== null);
    await client.state(stageId, 'idle');
  }
  const other = await startStage(script('three'));
  await client.event('approval-requested', (request) => request.stageId === other);
});

it('refuses a changed input that would not run, lists decisions by page and filter, and denies what nobody answers in time', async () => {
  const { client, startStage, model } = await createKit();
  const steps = [1, 2, 3].map((n) => ({ tools: [bash(`touch f${n}`)] }));
  const stageId = await startStage(prompt({ steps: [...steps, { text: 'Done.' }] }));
  const asked = await client.event('approval-requested');
  // A denial would be made of it.
  for (const updatedInput of [{}, { command: 7 }, { description: 'no command' }]) {
    const changed = { stageId, requestId: asked.requestId, decision: 'allow', updatedInput };
    await expect(client.command('approve_tool', changed)).rejects.toMatchObject({ code: 'bad_request' });
  }
  expect((await client.command('get_pending')).pending).toHaveLength(1);
  const seen = new Set<string>();
  for (const decision of ['allow', 'deny', 'allow']) {
    const { requestId } = await client.event('approval-requested', (request) => !seen.has(request.requestId));
    seen.add(requestId);
    await client.command('approve_tool', { stageId, requestId, decision });
  }
  await client.state(stageId, 'idle');
  const first = await client.command('get_decisions', { limit: 2 });
  expect(first.decisions.map(({ outcome }) => outcome)).toEqual(['allowed', 'denied']);
  const second = await client.command('get_decisions', { limit: 2, before: first.next });
  expect(second).toMatchObject({ decisions: [{ outcome: 'allowed' }], next: null });
  expect((await client.command('get_decisions', { outcome: 'denied' })).decisions).toHaveLength(1);
  expect((await client.command('get_decisions', { by: 'Eve' })).decisions).toEqual([]);

  await client.command('update_project', { projectId: 'shop', settings: { requestTimeoutMs: 1_000 } });
  const message = prompt({ steps: [{ tools: [bash('touch late')] }, { text: 'Then not.' }] });
  await client.command('send_message', { stageId, message });
  const { requestId } = await client.event('approval-requested', ({ expiresAt }) => expiresAt !== null);
  const outcome = await client.event('approval-resolved', (one) => one.requestId === requestId);
  expect(outcome).toMatchObject({ outcome: 'timed-out', by: null });
  await client.state(stageId, 'idle');
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('Nobody answered within the time limit');
  await expect(client.command('approve_tool', { stageId, requestId, decision: 'allow' })).rejects.toMatchObject({
    code: 'request_closed',
    message: expect.stringContaining('nobody answered within the time limit'),
    decision: { outcome: 'timed-out' },
  });
});
