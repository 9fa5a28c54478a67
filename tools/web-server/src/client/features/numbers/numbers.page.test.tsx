import { type Numbers, ProjectId, StageId } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';

const HOUR_MS = 3_600_000;
const [form, gone] = [StageId.parse('STAGE-1'), StageId.parse('STAGE-2')];
const [shop, site] = [ProjectId.parse('shop'), ProjectId.parse('site')];

const NOTHING: Numbers = {
  from: '2026-03-24',
  to: '2026-03-30',
  timeZone: 'Europe/Berlin',
  since: '2026-03-23T23:00:00.000Z',
  until: '2026-03-30T22:00:00.000Z',
  waits: { days: [], stages: [] },
  rules: { days: [], uses: [], texts: [], medianWaitMs: null, answers: 0 },
  spending: { timeZone: 'Europe/Berlin', from: '2026-03-24', to: '2026-03-30', days: [] },
  timeline: { launches: [], leftOut: 0, starts: 0, ranMs: 0, waits: [], waitsLeftOut: 0, leastMs: 302_400 },
  stages: [],
};

const MUCH: Numbers = {
  ...NOTHING,
  waits: {
    days: [
      { day: '2026-03-29', kind: 'approval', count: 3, waitedMs: 2 * HOUR_MS },
      { day: '2026-03-30', kind: 'question', count: 1, waitedMs: HOUR_MS },
    ],
    stages: [
      { stageId: form, kind: 'approval', count: 2, waitedMs: HOUR_MS },
      { stageId: gone, kind: 'approval', count: 1, waitedMs: HOUR_MS },
      { stageId: gone, kind: 'question', count: 1, waitedMs: HOUR_MS },
    ],
  },
  rules: {
    days: [
      { day: '2026-03-29', count: 2 },
      { day: '2026-03-30', count: 4 },
    ],
    uses: [
      { day: '2026-03-29', ruleId: 'r1', count: 2 },
      { day: '2026-03-30', ruleId: 'r1', count: 4 },
      { day: '2026-03-30', ruleId: 'r2', count: 3 },
    ],
    texts: [
      { ruleId: 'r1', rule: 'Bash(npm test)', projectId: shop },
      { ruleId: 'r2', rule: 'Bash(npm run lint)', projectId: shop },
    ],
    medianWaitMs: 30_000,
    answers: 3,
  },
  spending: {
    timeZone: 'Etc/UTC',
    from: '2026-03-24',
    to: '2026-03-30',
    days: [
      { day: '2026-03-29', projectId: shop, usd: 1.5, tokens: 20_000 },
      { day: '2026-03-29', projectId: site, usd: 0.5, tokens: 90_000 },
      { day: '2026-03-30', projectId: shop, usd: 2, tokens: 10_000 },
    ],
  },
  timeline: {
    leftOut: 40,
    starts: 39,
    ranMs: 50 * HOUR_MS,
    waitsLeftOut: 0,
    leastMs: 302_400,
    launches: [{ stageId: form, startedAt: '2026-03-30T08:00:00.000Z', endedAt: '2026-03-30T12:00:00.000Z' }],
    waits: [{ stageId: form, from: '2026-03-30T09:00:00.000Z', to: '2026-03-30T09:45:00.000Z' }],
  },
  stages: [
    { stageId: form, title: 'Login form', projectId: shop, isDeleted: false },
    { stageId: gone, title: 'Old theme', projectId: shop, isDeleted: true },
  ],
};

function open(address: string, numbers: Numbers) {
  const used = { contextUsage: { usedTokens: 68_000, maxTokens: 200_000, percentage: 34 }, startedAt: at(0) };
  const stages =
    numbers === NOTHING
      ? []
      : [{ stage: stage('STAGE-1', { title: 'Login form' }), session: session('STAGE-1', used) }];
  const page = openPage(address, board({ stages }));
  page.server.answer({ get_numbers: () => numbers });
  return page;
}

const section = async (name: string) => within(await screen.findByRole('region', { name }));

/** The cells of an open table, by row. */
const cells = (name: string): string[][] =>
  within(screen.getByRole('region', { name: `Table: ${name}` }))
    .getAllByRole('row')
    .map((row) => [...row.children].map((cell) => cell.textContent));

it('shows waits by day, stage and kind, each as a table too, and keeps the view in the address', async () => {
  const { user } = open('/numbers?range=7', MUCH);
  const waits = await section('Waiting for you');
  expect(screen.getByText('Waiting for you', { selector: 'dt' }).nextSibling?.textContent).toBe('3 h');
  expect(waits.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual([
    'Tool call 2 h',
    'Question 60 min',
  ]);
  expect(screen.queryByRole('table')).toBeNull();
  await user.click(waits.getByRole('button', { name: 'Waits by day, as a table' }));
  expect(cells('Waits by day')).toEqual([
    ['Day', 'Kind', 'Requests', 'Waited'],
    ['2026-03-29', 'Tool call', '3', '2 h'],
    ['2026-03-30', 'Question', '1', '1 h'],
  ]);
  await user.click(waits.getByRole('radio', { name: 'By stage' }));
  expect(cells('Waits by stage').slice(1)).toEqual([
    ['Old theme (deleted)', 'shop', 'Tool call', '1', '1 h'],
    ['Old theme (deleted)', 'shop', 'Question', '1', '1 h'],
    ['Login form', 'shop', 'Tool call', '2', '1 h'],
  ]);
  await user.click(waits.getByRole('radio', { name: 'By kind' }));
  expect(cells('Waits by kind').slice(1)).toEqual([
    ['Tool call', '3', '2 h', '40 min'],
    ['Question', '1', '1 h', '1 h'],
  ]);
  expect(location.search).toBe('?range=7&waits=kind');
});

/** One of the four numbers to begin with, and what is said beneath it. */
const total = (name: string) => {
  const value = within(screen.getByRole('main')).getByText(name, { selector: 'dt' }).nextSibling;
  return [value?.textContent, value?.nextSibling?.textContent];
};

it('calls what rules saved an estimate of calls, and says from what', async () => {
  const { user } = open('/numbers?rules=rule', MUCH);
  const rules = await section('Saved by rules');
  expect(total('Saved by rules')).toEqual(['about 3 min', '6 calls let through']);
  rules.getByText(/A call that several rules let through together counts for each of them\.$/);
  rules.getByText(/^An estimate: each call that a rule let through counts as 30 s, the median of 3 answers by people/);
  await user.click(rules.getByRole('button', { name: 'Rules by rule, as a table' }));
  expect(cells('Rules by rule')).toEqual([
    ['Rule', 'Project', 'Let through', 'Saved about'],
    ['Bash(npm test)', 'shop', '6', '3 min'],
    ['Bash(npm run lint)', 'shop', '3', '1 min 30 s'],
  ]);
});

it('counts calls only where there is nothing to estimate from', async () => {
  const { user } = open('/numbers', { ...MUCH, rules: { ...MUCH.rules, medianWaitMs: null, answers: 0 } });
  const rules = await section('Saved by rules');
  rules.getByText(/the time saved cannot be estimated/);
  await user.click(rules.getByRole('button', { name: 'Rules by day, as a table' }));
  expect(cells('Rules by day')).toEqual([
    ['Day', 'Let through'],
    ['2026-03-29', '2'],
    ['2026-03-30', '4'],
  ]);
});

it('shows cost and tokens by day and by project, and says whose days they are', async () => {
  const { user } = open('/numbers', MUCH);
  const spending = await section('Cost and tokens');
  spending.getByText(/By days of the server \(Etc\/UTC\), .+ to .+, not of your time zone/);
  expect(spending.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual(['shop $3.50', 'site $0.50']);
  await user.click(spending.getByRole('radio', { name: 'Tokens' }));
  expect(spending.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual(['site 90K', 'shop 30K']);
  await user.click(spending.getByRole('radio', { name: 'By project' }));
  await user.click(spending.getByRole('button', { name: 'Spending by project, as a table' }));
  expect(cells('Spending by project').slice(1)).toEqual([
    ['site', '$0.50', '90,000'],
    ['shop', '$3.50', '30,000'],
  ]);
});

it('shows contexts from the board, and sessions on a time line that a screen reader reads', async () => {
  const { user } = open('/numbers', MUCH);
  const context = await section('Context in use');
  await user.click(context.getByRole('button', { name: 'Context in use, as a table' }));
  expect(cells('Context in use').slice(1)).toEqual([['Login form', 'web', '68,000', '200,000', '34%']]);
  const line = await section('Time line');
  expect(line.getByRole('listitem').textContent).toBe('Login form1 session, ran for 4 h, waited for a person for 1 h');
  screen.getByText(/Waits shorter than .+ are too narrow to draw, and not in the table and its CSV file\. 40 older/);
  expect(total('Session time')).toEqual(['2 d 2 h', '39 starts']);
  expect(line.getByRole('link', { name: 'Login form' }).getAttribute('href')).toBe('/stages/STAGE-1');
  await user.click(screen.getByRole('button', { name: 'Sessions over time, as a table' }));
  expect(cells('Sessions over time').map((row) => [row[0], row[2], row[5]])).toEqual([
    ['Stage', 'What', 'Lasted'],
    ['Login form', 'Waited for a person', '45 min'],
    ['Login form', 'Session', '4 h'],
  ]);
});

it('saves what a table shows as a CSV file', async () => {
  const { user } = open('/numbers', MUCH);
  const blobs: Blob[] = [];
  vi.stubGlobal(
    'URL',
    Object.assign(URL, {
      createObjectURL: (blob: Blob) => `blob:${blobs.push(blob)}`,
      revokeObjectURL: () => undefined,
    }),
  );
  const names: string[] = [];
  const click = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    names.push(this.download);
  });
  await user.click(await screen.findByRole('button', { name: 'Export CSV: Waits by day' }));
  click.mockRestore();
  expect(names).toEqual(['waits-by-day.csv']);
  expect(await blobs[0]?.text()).toBe(
    'day,kind,requests,waited_seconds\r\n2026-03-29,Tool call,3,7200\r\n2026-03-30,Question,1,3600\r\n',
  );
});

it('asks for the days in the address, in the time zone of the browser, and for 30 by default', async () => {
  const { user, server } = open('/numbers?range=12', NOTHING);
  await screen.findByRole('region', { name: 'Waiting for you' });
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const asked = () => server.received.map(({ input }) => input);
  expect(asked()).toEqual([{ days: '30', timeZone }]);
  await user.click(screen.getByRole('radio', { name: '90 days' }));
  await expect.poll(asked).toEqual([
    { days: '30', timeZone },
    { days: '90', timeZone },
  ]);
  expect(location.search).toBe('?range=90');
});

it('says so where nothing happened', async () => {
  open('/numbers', NOTHING);
  await screen.findByText('Claude did not wait for anyone in this period.');
  for (const text of [
    'No calls were allowed by a rule.',
    'Nothing was spent in this period.',
    'No session has reported its context yet.',
    'No session ran in this period.',
  ])
    screen.getByText(text);
  expect(screen.queryByRole('button', { name: /^Export CSV/ })).toBeNull();
});

it('says that the numbers could not be read, and reads other days', async () => {
  const { user, server } = open('/numbers', NOTHING);
  server.answer({ get_numbers: () => problem('bad_request', 'timeZone: is not a time zone that this machine knows') });
  const alert = await screen.findByRole('alert');
  expect(alert.textContent).toContain('The numbers could not be read.');
  server.answer({ get_numbers: () => MUCH });
  await user.click(screen.getByRole('radio', { name: '7 days' }));
  await screen.findByRole('region', { name: 'Waiting for you' });
  expect(screen.queryByRole('alert')).toBeNull();
});
