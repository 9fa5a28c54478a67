import { Budget, SpentBudget } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { at, board, session, stage } from '../../test/samples.ts';

const ofProject = { projectId: stage('STAGE-1').projectId };
const budget = (scope: Budget['scope'], usd: number, spentUsd: number) =>
  Budget.parse({ scope, usd, tokens: null, spent: { usd: spentUsd, tokens: 3_000 } });
const SPENT = SpentBudget.parse({ scope: ofProject, unit: 'usd', spent: 5.02, limit: 5 });

/** A stage that its project's budget interrupted, a new one, and a day's budget that is nearly spent. */
function open(path: string) {
  const lastTurn = { outcome: 'interrupted', at: at(1), message: null, code: null };
  const interrupted = session('STAGE-1', { state: 'idle', sessionId: 'one', lastTurn, spentBudget: SPENT });
  const stages = [{ stage: stage('STAGE-1'), session: interrupted }, { stage: stage('STAGE-2') }];
  const budgets = [budget({ day: true }, 10, 8.5), budget(ofProject, 5, 5.02)];
  const projects = [sampleProject({ id: ofProject.projectId, name: 'Shop' })];
  const page = openPage(path, { ...board({ stages }), projects, budgets });
  page.server.answer({
    get_transcript: () => ({ entries: [], total: 0 }),
    get_servers: () => ({ servers: [] }),
    get_stage_commands: () => ({ commands: [] }),
    put_budget: () => ({ budgets }),
    continue_beyond_budget: () => ({ session: interrupted }),
    get_editors: () => ({ editors: [] }),
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map((one) => one.input);
  return { ...page, sent };
}

it('says on the board what is spent or nearly so, and opens all budgets', async () => {
  const { user, sent } = open('/');
  await screen.findByText('Daily budget nearly spent: $8.50 of $10.00.');
  await screen.findByText('Shop budget spent: $5.02 of $5.00. Nothing starts automatically.');
  const needy = await screen.findByRole('region', { name: 'Needs you' });
  await within(needy).findByText('Budget spent: $5.02 of $5.00');
  const [first] = screen.getAllByRole('button', { name: 'Budgets' });
  if (first === undefined) throw new Error('no button');
  await user.click(first);
  const dialog = await screen.findByRole('dialog', { name: 'Budgets' });
  const forms = within(dialog).getAllByRole('form');
  expect(forms.map((form) => form.getAttribute('aria-label'))).toEqual(['Daily budget', 'Total budget', 'Shop budget']);
  const today = within(dialog).getByRole('form', { name: 'Daily budget' });
  expect(today.textContent).toContain('$8.50 of $10.00, nearly spent');
  const all = within(within(dialog).getByRole('form', { name: 'Total budget' }));
  expect(all.getByRole('button', { name: 'Save' }).hasAttribute('disabled')).toBe(true);
  await user.type(all.getByRole('textbox', { name: 'Tokens' }), '2000000');
  await user.click(all.getByRole('button', { name: 'Save' }));
  await user.click(within(today).getByRole('button', { name: 'Remove' }));
  expect(sent('put_budget')).toEqual([{ scope: {}, usd: null, tokens: 2_000_000 }, { scope: { day: true } }]);
});

it('lets a person raise the budget that stopped a stage, or continue once', async () => {
  const { user, sent } = open('/stages/STAGE-1');
  const banner = within(await screen.findByRole('region', { name: 'Budget spent: $5.02 of $5.00' }));
  expect(screen.queryByRole('button', { name: 'Continue' })).toBeNull();
  await user.click(banner.getByRole('button', { name: 'Continue once' }));
  expect(sent('continue_beyond_budget')).toEqual([{ stageId: 'STAGE-1' }]);
  await user.click(banner.getByRole('button', { name: 'Raise the budget' }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Budget' }));
  const money = dialog.getByRole('textbox', { name: 'Money' });
  await user.clear(money);
  await user.type(money, '20');
  await user.click(dialog.getByRole('button', { name: 'Save' }));
  expect(sent('put_budget')).toEqual([{ scope: ofProject, usd: 20, tokens: null }]);
});

it('says before a start what it would exceed', async () => {
  const { user, sent } = open('/stages/STAGE-2');
  const banner = within(await screen.findByRole('region', { name: 'Budget spent: $5.02 of $5.00' }));
  expect(screen.queryByRole('button', { name: 'Start' })).toBeNull();
  await user.click(banner.getByRole('button', { name: 'Start once' }));
  expect(sent('continue_beyond_budget')).toEqual([{ stageId: 'STAGE-2' }]);
});
