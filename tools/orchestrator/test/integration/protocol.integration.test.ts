import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { createKit } from '../support/kit.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'Do it' } });

it('asks in plan mode before Bash runs, shows the plan of the plan file, and ends the turn with a denial that says so', async () => {
  const { client, startStage } = await createKit();
  const write = { name: 'Write', input: { file_path: '{{planFile}}', content: '# My plan\n\n- one step\n' } };
  const planning = [{ tools: [write] }, { tools: [{ name: 'ExitPlanMode', input: {} }] }, { text: 'Off I go.' }];
  const stageId = await startStage(prompt({ steps: [{ tools: [bash('touch made.txt')] }, ...planning] }), {
    permissionMode: 'plan',
  });
  // It is not left to a classifier.
  const ran = await client.event('approval-requested');
  await client.command('approve_tool', { stageId, requestId: ran.requestId, decision: 'deny', reason: 'Plan first' });
  const plan = await client.event('plan-requested');
  expect(plan.input.plan).toContain('# My plan');
  await client.command('approve_tool', { stageId, requestId: plan.requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  expect((await client.command('get_session', { stageId })).session.mode).toBe('default');

  const tools = [1, 2].map((n) => ({ name: 'Read', input: { file_path: `/etc/host${n}` } }));
  await client.command('send_message', { stageId, message: prompt({ steps: [{ tools }, { text: 'Not reached.' }] }) });
  const { requestId } = await client.event('approval-requested', ({ toolName }) => toolName === 'Read');
  const other = await client.event(
    'approval-requested',
    (request) => request.toolName === 'Read' && request.requestId !== requestId,
  );
  await client.command('approve_tool', { stageId, requestId, decision: 'deny', interrupt: true });
  await client.event('approval-cancelled', (request) => request.requestId === other.requestId);
  await client.state(stageId, 'idle');
  expect((await client.command('get_session', { stageId })).session.lastTurn?.outcome).toBe('interrupted');
});

it('waits for a foreground subagent, keeps the requests of several apart, and reports a compacted and a cleared conversation', async () => {
  const { client, startStage } = await createKit();
  const child = prompt({ steps: [{ tools: [bash('touch child.txt')] }, { text: 'Child done.' }] }, 'Do the part');
  const agent = { description: 'the part', prompt: child, subagent_type: 'general-purpose', run_in_background: false };
  const stageId = await startStage(
    prompt({ steps: [{ tools: [{ name: 'Agent', input: agent }] }, { text: 'All done.' }] }),
  );
  const asked = await client.event('approval-requested');
  expect(asked.agent).toBe('the part');
  await client.command('approve_tool', { stageId, requestId: asked.requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  const ends = (await client.transcript(stageId)).filter((entry) => entry.kind === 'turn-end');
  expect(ends).toHaveLength(1);

  // Each of several gets a turn of its own when it finishes.
  const agents = ['red', 'green', 'blue'].map((name) => ({
    name: 'Agent',
    input: {
      description: name,
      prompt: prompt({ steps: [{ tools: [bash(`touch ${name}.txt`)] }, { text: `${name} done.` }] }),
      subagent_type: 'general-purpose',
    },
  }));
  await client.command('send_message', {
    stageId,
    message: prompt({ steps: [{ tools: agents }, { text: 'Started.' }] }),
  });
  for (const name of ['red', 'green', 'blue']) {
    const { requestId, input } = await client.event('approval-requested', (request) => request.agent === name);
    expect(input.command).toBe(`touch ${name}.txt`);
    await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  }
  await client.state(stageId, 'idle');

  const codes = async () =>
    (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'notice' ? entry.code : []));
  await client.command('send_message', { stageId, message: '/compact', isCommand: true });
  await expect.poll(codes).toContain('compacted');
  await client.state(stageId, 'idle');
  await client.command('send_message', { stageId, message: '/clear', isCommand: true });
  await expect.poll(codes).toContain('conversation-cleared');
});

it('does not report a turn as successful if a hook kept its message from Claude', async () => {
  const { client, startStage, repo } = await createKit();
  const command = `echo '{"decision":"block","reason":"Not on Fridays"}'`;
  await mkdir(join(repo, '.claude'));
  const settings = { hooks: { UserPromptSubmit: [{ hooks: [{ type: 'command', command }] }] } };
  await writeFile(join(repo, '.claude', 'settings.json'), JSON.stringify(settings));
  await git(repo, 'add', '.');
  await git(repo, 'commit', '--quiet', '-m', 'A hook');
  const { trust } = await client.command('get_trust', { projectId: 'shop' });
  await client.command('trust_project', { projectId: 'shop', hash: trust.hash });
  const stageId = await startStage(prompt({ steps: [{ text: 'Never said.' }] }));
  await client.state(stageId, 'idle');
  const { stage } = await client.command('get_stage', { stageId });
  expect(stage).toMatchObject({
    column: 'needs-you',
    session: { lastTurn: { outcome: 'failed', message: expect.stringContaining('Not on Fridays') } },
  });
});
