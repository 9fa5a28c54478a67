import { type DryRun, ProjectId, type RuleOffer, StageId, type UsedRule } from '@callboard/contract';
import { sampleDecision, sampleProject } from '@callboard/contract/samples';
import { act, screen, waitFor, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { rulesDialog } from '../../data/dialogs.ts';
import { openPage } from '../../test/open-page.tsx';
import { board, request, session, stage } from '../../test/samples.ts';

const AT = '2026-01-01T14:05:00.000Z';
const projectId = ProjectId.parse(stage('STAGE-1').projectId);
const stageId = StageId.parse('STAGE-1');
const offer: RuleOffer = { projectId, stageId, rules: ['Bash(npm test)'], times: 3 };
const denied = {
  stageId: StageId.parse('STAGE-7'),
  requestId: request('STAGE-7', 'r0').requestId,
  stageTitle: 'Earlier work',
  asked: 'Bash npm test',
  by: 'Bo',
  at: AT,
  reason: 'Not before the merge',
};
const dryRun: DryRun = {
  waits: 74,
  answered: 61,
  waitedMs: 7_800_000,
  unsure: 4,
  wouldAllowDenied: [denied],
  denied: 1,
  since: null,
};
const rule = {
  ...({
    ruleId: 'rule-1',
    scope: 'project',
    projectId,
    stageId: null,
    kind: 'allow',
    rule: 'Bash(npm run *)',
  } as const),
  by: 'Ada',
  createdAt: AT,
  expiresAt: null,
  endedAt: null,
  endedBy: null,
  uses: 14,
  lastUsedAt: AT,
  usedFor: [{ asked: 'Bash npm run build', count: 14 }],
  lastUses: [{ stageId, entry: 12, asked: 'Bash npm run build', at: AT }],
};
let opened = 0;

function open(path: string, given: { offer: RuleOffer | null }) {
  const asked = request('STAGE-1', `rule-${++opened}`, { input: { command: 'npm test' } }); // decided ones stay away from this tab
  const own = { stage: stage('STAGE-1', { title: 'Login form' }), session: session('STAGE-1') };
  const seen = board({ stages: [own], pending: [asked] });
  const page = openPage(path, { ...seen, projects: [sampleProject({ id: projectId })] });
  onTestFinished(() => act(rulesDialog.close));
  page.server.answer({
    get_drafts: () => ({ drafts: [] }),
    get_rule_offer: () => ({ offer: given.offer }),
    rehearse_rule: () => dryRun,
    list_rules: () => ({ rules: [rule], ended: [{ ...rule, ruleId: 'rule-0', endedAt: AT, endedBy: 'Bo' }] }),
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map((one) => one.input);
  return { ...page, sent, asked };
}

/** A button decides half a second after it was drawn. */
async function ready(button: HTMLElement): Promise<HTMLElement> {
  await expect.poll(() => button.getAttribute('aria-disabled')).toBeNull();
  return button;
}

const seesDryRun = async (place: ReturnType<typeof within>) => {
  await place.findByText(
    /This rule would have answered 61 of your last 74 requests \(2 h 10 min of waiting\)\. 4 more/,
  );
  place.getByText('Would have let through 1 that were denied');
  place.getByText(/Not before the merge/);
  expect(place.getByRole('link', { name: 'Earlier work' }).getAttribute('href')).toBe('/stages/STAGE-7');
};

it('offers the exact rule on a request that was allowed three times, rehearsed and with an end; only the press saves it', async () => {
  const { user, server, sent } = open('/', { offer });
  const form = within(await screen.findByRole('dialog', { name: 'Login form: Run this command?' }));
  await user.click(await form.findByRole('button', { name: 'Always allow (allowed 3 times) …' }));
  form.getByText('Bash(npm test)');
  form.getByText(/^Matches exactly this command/);
  await seesDryRun(form);
  expect(sent('rehearse_rule').at(-1)).toMatchObject({ rule: 'Bash(npm test)', scope: { stageId }, along: [] });
  await user.selectOptions(form.getByLabelText('For'), 'the project');
  await user.selectOptions(form.getByLabelText('Expires'), 'in 1 day');
  await waitFor(() => expect(sent('rehearse_rule').at(-1)).toMatchObject({ scope: { projectId } }));
  expect(sent('approve_tool')).toEqual([]);
  server.answer({ approve_tool: () => new Promise(() => undefined) });
  await user.click(await ready(form.getByRole('button', { name: 'Always allow' })));
  await waitFor(() => expect(sent('approve_tool')).toHaveLength(1));
  const [body] = sent('approve_tool') as { rememberUntil: string }[];
  expect(body).toMatchObject({
    decision: 'allow',
    remember: 'project',
    updatedPermissions: [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'npm test' }] }],
  });
  expect(Date.parse(body?.rememberUntil ?? '') - Date.now()).toBeGreaterThan(86_000_000);
});

it('offers the rule right after the third same answer; it is saved, or put away, by a press', async () => {
  const { user, server, sent, asked } = open('/', { offer });
  server.answer({
    approve_tool: () => ({ decision: sampleDecision({ stageId, requestId: asked.requestId, delivery: 'confirmed' }) }),
    add_rule: () => ({ rule }),
    dismiss_rule_offer: () => ({}),
  });
  const form = within(await screen.findByRole('dialog', { name: 'Login form: Run this command?' }));
  await user.click(await ready(form.getByRole('button', { name: 'Allow' })));
  await user.click(await screen.findByRole('button', { name: 'Make it a rule …' }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Rules' }));
  await dialog.findByText('You allowed this 3 times');
  await seesDryRun(dialog);
  expect(sent('add_rule')).toEqual([]);
  await user.click(dialog.getByRole('button', { name: 'Save rule' }));
  await waitFor(() => expect(sent('add_rule')).toHaveLength(1));
  expect(sent('add_rule')[0]).toMatchObject({
    rule: 'Bash(npm test)',
    scope: { projectId },
    expiresAt: expect.any(String),
  });
  await waitFor(() => expect(dialog.queryByText('You allowed this 3 times')).toBeNull());

  // All rules with their use, and those that have ended, are in the same place.
  dialog.getByText('Bash(npm run *)', { selector: 'li:not(details li) *' });
  dialog.getAllByText(/^Used 14 times, last/);
  dialog.getByText('Ended: 1');
  dialog.getByText(/^removed by Bo/);
  server.answer({ remove_rule: () => ({ rule }) });
  await user.click(dialog.getByRole('button', { name: 'Remove Bash(npm run *)' }));
  await waitFor(() => expect(sent('remove_rule')).toEqual([{ ruleId: 'rule-1' }]));
});

it('offers the rule after a tap too, once its answer is no longer held back', async () => {
  const { user, server, sent, asked } = open('/', { offer });
  server.answer({ approve_tool: () => ({ heldUntil: AT }) });
  const form = within(await screen.findByRole('dialog', { name: 'Login form: Run this command?' }));
  await user.pointer({ keys: '[TouchA]', target: await ready(form.getByRole('button', { name: 'Allow' })) });
  await screen.findByRole('button', { name: 'Undo' });
  const asks = sent('get_rule_offer').length; // by the form
  const decided = sampleDecision({ stageId, requestId: asked.requestId, outcome: 'allowed', delivery: 'confirmed' });
  server.emit('approval-resolved', decided);
  await screen.findByRole('button', { name: 'Make it a rule …' });
  expect(sent('get_rule_offer')).toHaveLength(asks + 1);
});

it('puts an offer away', async () => {
  const { user, sent, server } = open('/', { offer });
  server.answer({ dismiss_rule_offer: () => ({}) });
  await screen.findByRole('dialog', { name: 'Login form: Run this command?' });
  act(() => rulesDialog.open({ projectId: offer.projectId, offer }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Rules' }));
  await user.click(await dialog.findByRole('button', { name: 'Not now' }));
  await waitFor(() => expect(sent('dismiss_rule_offer')).toEqual([{ projectId, rules: ['Bash(npm test)'] }]));
  expect(sent('add_rule')).toEqual([]);
});

const api = ProjectId.parse('api');
const host = {
  ...({ ...rule, ruleId: 'rule-2', projectId: api, kind: 'host', rule: 'registry.example' } as const),
  by: 'Bo',
  uses: null,
  lastUsedAt: null,
  usedFor: [],
  lastUses: [],
};
const unused = {
  ...({ ...rule, ruleId: 'rule-3', scope: 'stage', stageId, rule: 'Bash(make)' } as const),
  by: 'Bo',
  expiresAt: '2027-01-01T12:00:00.000Z',
  uses: 0,
  lastUsedAt: null,
  usedFor: [],
  lastUses: [],
};

it('lists the rules of all projects on one page, with filters in the address, their uses, and the button that removes each', async () => {
  const own = { stage: stage('STAGE-1', { title: 'Login form' }), session: session('STAGE-1') };
  const projects = [sampleProject({ id: projectId, name: 'Shop' }), sampleProject({ id: api, name: 'Gateway' })];
  const { user, server } = openPage('/', { ...board({ stages: [own] }), projects });
  let rules: UsedRule[] = [rule, host, unused];
  const ended = { ...host, ruleId: 'rule-0', rule: 'old.example', endedAt: AT, endedBy: 'Bo' };
  server.answer({
    list_rules: () => ({ rules, ended: [ended] }),
    get_trust: () => ({ trust: { needed: false, hash: 'h', items: [] } }),
  });
  await user.keyboard('{Control>}k{/Control}');
  await user.keyboard('rules');
  await user.click(await screen.findByRole('option', { name: /Rules/ }));
  const page = within(await screen.findByRole('main'));
  await page.findByText('3 rules');
  const texts = () => page.getAllByRole('listitem').flatMap((row) => row.querySelector('code')?.textContent ?? []);
  expect(texts()).toEqual(expect.arrayContaining(['Bash(npm run *)', 'registry.example', 'Bash(make)']));
  page.getByText(/a folder or a host still holds in them until their process ends/);
  page.getByText(/^Claude Code does not report when it is used/);
  page.getByText(/^It may still hold in sessions that ran then/);
  page.getByText('Not used yet');
  page.getByText('Ended: 1');

  const last = within(page.getByRole('list', { name: 'Last uses' }));
  expect(last.getByRole('link', { name: 'Login form' }).getAttribute('href')).toBe('/stages/STAGE-1?entry=12');

  await user.type(page.getByRole('textbox', { name: 'Text in the rule' }), 'npm run build');
  await page.findByText('1 rule');
  expect(location.search).toBe('?text=npm+run+build');
  await user.clear(page.getByRole('textbox', { name: 'Text in the rule' }));
  await user.selectOptions(page.getByRole('combobox', { name: 'Project' }), 'Gateway');
  await page.findByText('1 rule');
  expect(location.search).toBe('?project=api');
  page.getByRole('heading', { name: 'From the repository’s settings' });

  server.answer({
    remove_rule: () => {
      rules = [rule, unused];
      return { rule: host };
    },
  });
  await user.click(page.getByRole('button', { name: 'Remove registry.example of Gateway' }));
  await page.findByText('No rule matches these filters.');
  const removed = server.received.filter(({ command }) => command === 'remove_rule');
  expect(removed.map(({ input }) => input)).toEqual([{ ruleId: 'rule-2' }]);
});
