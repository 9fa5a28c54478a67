import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'Try' } });

it('tells on the real CLI what a person allowed and denied, and what ran without asking', async () => {
  const { client, startStage } = await createKit();
  const read = { name: 'Read', input: { file_path: 'README.md' } };
  const steps = [
    { tools: [read] },
    { tools: [bash('echo a >> a.txt')] },
    { tools: [bash('echo b >> b.txt')] },
    { tools: [bash('ls')] },
  ];
  const stageId = await startStage(prompt({ steps: [...steps, { text: 'Done.' }] }));
  const answers = [{ decision: 'allow' }, { decision: 'deny', reason: 'Not that one.' }];
  const asked: string[] = [];
  for (const answer of answers) {
    const { requestId } = await client.event('approval-requested', (one) => !asked.includes(one.requestId));
    asked.push(requestId);
    await client.command('approve_tool', { stageId, requestId, ...answer });
  }
  await client.state(stageId, 'idle');
  const { receipt } = await client.command('get_receipt', { stageId });
  expect(receipt.turns).toHaveLength(1);
  expect(receipt.turns[0]?.calls.map((call) => [call.asked, call.reason, call.by === null, call.detail])).toEqual([
    ['Read README.md', 'mode', true, null],
    ['Bash echo a >> a.txt', 'person', false, null],
    ['Bash echo b >> b.txt', 'denied-by-person', false, 'Not that one.'],
    ['Bash ls', 'claude-code', true, 'each part by a rule, or because it only reads'],
  ]);
  expect(receipt).toMatchObject({ total: 4, gaps: [] });
});
