import { CONTINUE_MESSAGE } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit, type Kit } from '../support/kit.ts';
import { livingProcess } from '../support/living-process.ts';

const MILLION = 1_000_000;

/** A call that uses so many tokens. */
const call = (text: string, millions: number) => ({
  text,
  usage: { input_tokens: millions * MILLION, output_tokens: 0 },
});
const turn = (name: string, millions: number) => prompt({ steps: [call(`${name}.`, millions)] }, `<${name}>`);

async function heard({ client }: Kit, stageId: string, name: string): Promise<void> {
  await expect
    .poll(async () => (await client.transcript(stageId)).some((e) => e.kind === 'text' && e.text === `${name}.`))
    .toBe(true);
  await client.state(stageId, 'idle');
}

async function say(kit: Kit, stageId: string, name: string, millions: number): Promise<void> {
  await kit.client.command('send_message', { stageId, message: turn(name, millions) });
  await heard(kit, stageId, name);
}

/** What is spent in all, in millions of tokens; Claude Code itself asks for a title and the like. */
async function millionsSpent({ client }: Kit): Promise<number> {
  const { budgets } = await client.command('get_budgets');
  return Math.round((budgets.find(({ scope }) => Object.keys(scope).length === 0)?.spent.tokens ?? 0) / MILLION);
}

async function notices({ client }: Kit, stageId: string): Promise<string[]> {
  return (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'notice' ? (entry.code ?? []) : []));
}

it('counts what is spent once, over a resume, a cleared conversation, kills of both processes, and a fork', async () => {
  const kit = await createKit({ where: 'apart' });
  await kit.client.command('put_budget', { scope: {}, usd: 100_000 });
  const stageId = await kit.startStage(turn('First', 1));
  await heard(kit, stageId, 'First');
  expect(await millionsSpent(kit)).toBe(1);
  await kit.client.command('stop_stage', { stageId });
  await say(kit, stageId, 'Resumed', 2);
  expect(await millionsSpent(kit)).toBe(3);
  await kit.client.command('send_message', { stageId, message: '/clear', isCommand: true });
  await expect.poll(() => notices(kit, stageId)).toContain('conversation-cleared');
  await say(kit, stageId, 'Cleared', 4);
  expect(await millionsSpent(kit)).toBe(7);
  process.kill((await livingProcess(kit, stageId)).pid, 'SIGKILL');
  await kit.client.state(stageId, 'ended');
  await say(kit, stageId, 'Killed', 8);
  expect(await millionsSpent(kit)).toBe(15);
  await kit.kill();
  await kit.start();
  await say(kit, stageId, 'Again', 16);
  expect(await millionsSpent(kit)).toBe(31);
  const { stage } = await kit.client.command('fork_stage', { stageId });
  await say(kit, stage.id, 'Forked', 32);
  expect(await millionsSpent(kit)).toBe(63);
  expect((await kit.client.command('get_session', { stageId })).session.costUsd).toBeCloseTo(31 * 4, -1);
});

it('interrupts a turn whose budget is spent, keeps what waits over a kill, and goes on with a larger one or once beyond it', async () => {
  const kit = await createKit({ where: 'apart' });
  const command = 'echo; sleep 600'; // Claude Code asks nobody about it, and refuses a `sleep` that stands alone
  const steps = [{ ...call('Long work.', 2), tools: [{ name: 'Bash', input: { command } }] }, call('Never said.', 1)];
  await kit.client.command('put_budget', { scope: { projectId: 'shop' }, tokens: 2 * MILLION });
  const stageId = await kit.startStage(prompt({ steps }));
  const isOver = ({ stageId: id, spentBudget }: { stageId: string; spentBudget: object | null }) =>
    id === stageId && spentBudget !== null;
  const over = await kit.client.event('session-updated', (s) => isOver(s) && s.lastTurn?.outcome === 'interrupted');
  expect(over.spentBudget).toMatchObject({ scope: { projectId: 'shop' }, unit: 'tokens', limit: 2 * MILLION });
  expect((await kit.client.command('get_stage', { stageId })).stage.column).toBe('needs-you');
  expect((await notices(kit, stageId)).filter((code) => code === 'budget-spent')).toHaveLength(1);

  const queued = await kit.client.command('send_message', { stageId, message: turn('Waited', 1) });
  expect(queued.status).toBe('queued');
  const { stage: other } = await kit.client.command('create_stage', {
    projectId: 'shop',
    title: 'Other',
    prompt: turn('Other', 1),
  });
  await expect(kit.client.command('start_stage', { stageId: other.id })).rejects.toMatchObject({
    code: 'budget_spent',
    message: expect.stringContaining('The budget of this project is spent: 2,0'),
  });
  await kit.kill();
  await kit.start();
  expect((await kit.client.command('get_stage', { stageId })).stage).toMatchObject({
    column: 'needs-you',
    session: { queued: 1, spentBudget: { unit: 'tokens' } },
  });

  await kit.client.command('continue_beyond_budget', { stageId: other.id });
  await heard(kit, other.id, 'Other');
  await kit.client.command('put_budget', { scope: { projectId: 'shop' }, tokens: 50 * MILLION });
  await heard(kit, stageId, 'Waited');
  const said = (await kit.client.transcript(stageId)).flatMap((entry) => (entry.kind === 'user' ? [entry.text] : []));
  expect(said.filter((text) => text.includes('<Waited>'))).toHaveLength(1);
  expect(said).not.toContain(CONTINUE_MESSAGE);
});
