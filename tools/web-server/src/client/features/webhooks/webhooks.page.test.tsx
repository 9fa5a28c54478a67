import { type CommandInput, NOBODY, StageId, type Webhook, type WebhookCall } from '@callboard/contract';
import { fireEvent, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board } from '../../test/samples.ts';

const sample: Webhook = {
  webhookId: 'webhook-1',
  name: 'On call',
  form: 'slack',
  where: 'https://hooks.example.com',
  signals: ['waiting'],
  projectIds: null,
  afterMinutes: 10,
  tellsSettled: true,
  isOn: true,
  createdAt: at(0),
  createdBy: 'Ada',
  sentAt: null,
  problem: null,
};
const sampleCall: WebhookCall = {
  callId: '7',
  signal: 'waiting',
  stageId: StageId.parse('STAGE-1'),
  stageTitle: 'Login form',
  requestId: null,
  isFollowUp: false,
  state: 'dropped',
  attempts: 2,
  dueAt: at(0),
  triedAt: at(0),
  error: 'hooks.example.com refused the call with status 410.',
};
const SECRET = 'whsec_abc';

/** The page, on a server that keeps what it is sent. */
function open(webhooks: Webhook[] = []) {
  const page = openPage('/notifications', { ...board({ stages: [] }), me: { ...NOBODY, name: 'Ada' } });
  const added: CommandInput<'add_webhook'>[] = [];
  const patches: CommandInput<'change_webhook'>['patch'][] = [];
  page.server.answer({
    get_webhooks: () => ({ webhooks }),
    add_webhook: (given) => {
      added.push(given);
      const { target, ...choices } = given;
      webhooks = [...webhooks, { ...sample, ...choices, form: target.form }];
      return { webhook: sample, secret: target.form === 'webhook' ? SECRET : null };
    },
    change_webhook: ({ patch }) => {
      patches.push(patch);
      const { target: _, ...choices } = patch;
      webhooks = webhooks.map((one) => ({ ...one, ...(choices as Partial<Webhook>) })); // without undefined, as JSON is
      return { webhook: sample, secret: null };
    },
    remove_webhook: () => {
      webhooks = [];
      return { webhook: sample };
    },
  });
  return { ...page, added, patches };
}

const section = () => screen.findByRole('region', { name: 'Outgoing' });
const row = async () => within(await screen.findByRole('listitem', { name: 'On call' }));

it('adds a webhook, and shows the secret that was made once', async () => {
  const { user, added } = open();
  await user.click(within(await section()).getByRole('button', { name: 'Add' }));
  const dialog = within(await screen.findByRole('dialog'));
  await user.type(dialog.getByLabelText(/^Name/), 'On call');
  await user.click(dialog.getByRole('button', { name: 'Add' }));
  expect(await dialog.findByText('is not an address that begins with https:// or http://')).toBeTruthy();
  await expect.poll(() => document.activeElement).toBe(dialog.getByLabelText(/^Address/));
  expect(added).toEqual([]);
  await user.type(dialog.getByLabelText(/^Address/), 'https://hooks.example.com/x');
  await user.click(dialog.getByRole('checkbox', { name: 'Finished' }));
  await user.selectOptions(dialog.getByLabelText('When'), 'After 10 min without an answer');
  await user.click(dialog.getByRole('button', { name: 'Add' }));
  await dialog.findByText(SECRET);
  expect(added).toEqual([
    {
      name: 'On call',
      signals: ['waiting', 'failed'],
      projectIds: null,
      afterMinutes: 10,
      tellsSettled: true,
      isOn: true,
      target: { form: 'webhook', url: 'https://hooks.example.com/x', allowsThisMachine: false },
      webhookId: expect.any(String),
    },
  ]);
  await user.click(dialog.getByRole('button', { name: 'Done' }));
  await expect.poll(() => screen.queryByText(SECRET)).toBeNull();
  expect(await row()).toBeTruthy();
});

it('says that it may have been added when the reply is lost, and adds the same one again', async () => {
  const { user, server } = open();
  const answered: CommandInput<'add_webhook'>[] = [];
  await user.click(within(await section()).getByRole('button', { name: 'Add' }));
  const dialog = within(await screen.findByRole('dialog'));
  await user.type(dialog.getByLabelText(/^Name/), 'On call');
  await user.type(dialog.getByLabelText(/^Address/), 'https://hooks.example.com/x');
  server.answer({
    add_webhook: (given) => {
      answered.push(given);
      return answered.length === 1 ? problem('no_confirmation', 'Look.') : { webhook: sample, secret: SECRET };
    },
  });
  await user.click(dialog.getByRole('button', { name: 'Add' }));
  const alert = await dialog.findByRole('alert');
  expect(alert.textContent).toContain('It may have been saved.');
  expect(alert.textContent).not.toContain('Nothing was changed');
  await user.click(dialog.getByRole('button', { name: 'Add' }));
  await dialog.findByText(SECRET);
  expect(answered).toHaveLength(2);
  expect(answered[1]).toEqual(answered[0]);
  expect(answered[0]?.webhookId).toMatch(/^[\da-f-]{36}$/);
});

it('adds a command by its arguments, and Telegram with its usual server', async () => {
  const { user, added, server } = open();
  await user.click(within(await section()).getByRole('button', { name: 'Add' }));
  const dialog = within(await screen.findByRole('dialog'));
  await user.type(dialog.getByLabelText(/^Name/), 'Desk');
  await user.selectOptions(dialog.getByLabelText('Goes to'), 'Telegram');
  expect(dialog.getByLabelText<HTMLInputElement>(/^Server/).value).toBe('https://api.telegram.org');
  await user.selectOptions(dialog.getByLabelText('Goes to'), 'Command');
  expect(dialog.queryByLabelText(/^On this machine/)).toBeNull();
  fireEvent.change(dialog.getByLabelText(/^Command/), { target: { value: 'notify-send\nIt is time\n' } });
  const refused = 'Set a command in a browser that is logged in.';
  server.answer({ add_webhook: () => problem('page_only', refused) });
  await user.click(dialog.getByRole('button', { name: 'Add' }));
  expect((await dialog.findByRole('alert')).textContent).toContain(refused);
  const sent = server.received.findLast(({ command }) => command === 'add_webhook');
  const target = { form: 'command', argv: ['notify-send', 'It is time'], timeLimitSeconds: 30 };
  expect(sent?.input).toMatchObject({ target });
  expect(added).toEqual([]);
});

it('changes what one is told without asking for its secrets, and replaces them only when asked', async () => {
  const { user, patches } = open([sample]);
  const own = await row();
  expect(own.getByText('Waiting for you · all projects · after 10 min without an answer')).toBeTruthy();
  await user.click(own.getByRole('button', { name: 'Edit' }));
  let dialog = within(await screen.findByRole('dialog'));
  expect(dialog.queryByLabelText(/^Address/)).toBeNull();
  await user.selectOptions(dialog.getByLabelText('When'), 'At once');
  await user.click(dialog.getByRole('button', { name: 'Save' }));
  await expect.poll(() => patches).toHaveLength(1);
  expect(patches[0]).toMatchObject({ afterMinutes: 0, signals: ['waiting'] });
  expect(patches[0]).not.toHaveProperty('target');
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  await user.click(own.getByRole('switch', { name: 'On call is on' }));
  await expect.poll(() => patches[1]).toEqual({ isOn: false });
  await user.click(own.getByRole('button', { name: 'Edit' }));
  dialog = within(await screen.findByRole('dialog'));
  await user.click(dialog.getByRole('button', { name: 'Replace' }));
  await user.type(dialog.getByLabelText(/^Address/), 'https://hooks.example.com/new');
  await user.click(dialog.getByRole('button', { name: 'Save' }));
  const target = { form: 'slack', url: 'https://hooks.example.com/new', allowsThisMachine: false };
  await expect.poll(() => patches[2]).toMatchObject({ target });
});

it('tests one, says why it failed, lists its calls and makes one again', async () => {
  const { user, server } = open([
    { ...sample, problem: { at: at(0), text: 'hooks.example.com did not answer in time.' } },
  ]);
  const own = await row();
  expect(own.getByRole('alert').textContent).toContain('did not answer in time.');
  server.answer({ test_webhook: () => problem('webhook_failed', 'The test was not accepted. It refused.') });
  await user.click(own.getByRole('button', { name: 'Send a test' }));
  await expect.poll(() => own.getByRole('alert').textContent).toContain('The test was not accepted. It refused.');
  server.answer({ test_webhook: () => ({ webhook: sample }) });
  await user.click(own.getByRole('button', { name: 'Send a test' }));
  await own.findByText('The test was delivered.');
  let call = sampleCall;
  const overtaken = { ...sampleCall, callId: '8', stageTitle: 'Unsent', attempts: 0, triedAt: null, error: null };
  const unsure = { ...sampleCall, callId: '9', stageTitle: 'Unsure', attempts: 1, error: null };
  server.answer({
    get_webhook_calls: () => ({ calls: [call, overtaken, unsure] }),
    repeat_webhook_call: () => {
      call = { ...sampleCall, state: 'sent', attempts: 3, error: null };
      return { call };
    },
  });
  await user.click(own.getByRole('button', { name: 'Show calls' }));
  const calls = within(await own.findByRole('list', { name: 'Newest calls' }));
  expect(calls.getByText(/^Tried 2 times/).textContent).toContain('status 410');
  expect(calls.getByText('Not sent: nobody was needed any more')).toBeTruthy();
  expect(calls.getByText(/^Tried once; may have arrived/)).toBeTruthy();
  await user.click(calls.getByRole('button', { name: 'Send again: Waiting for you, Login form' }));
  await expect.poll(() => calls.queryByText(/^Sent/)).not.toBeNull();
  const repeated = server.received.find(({ command }) => command === 'repeat_webhook_call');
  expect(repeated?.input).toEqual({ webhookId: 'webhook-1', callId: '7' });
});

it('removes one after a question', async () => {
  const { user } = open([sample]);
  await user.click((await row()).getByRole('button', { name: 'Remove' }));
  const dialog = within(await screen.findByRole('dialog', { name: 'Remove On call' }));
  await user.click(dialog.getByRole('button', { name: 'Remove' }));
  await expect.poll(() => screen.queryByRole('listitem', { name: 'On call' })).toBeNull();
});
