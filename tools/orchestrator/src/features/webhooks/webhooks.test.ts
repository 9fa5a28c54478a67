import { randomUUID } from 'node:crypto';
import { NewWebhook, ProjectId } from '@callboard/contract';
import { expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import type { Called, Caller } from './webhook-request.ts';
import { createWebhooks } from './webhooks.ts';

const PAGE = { actor: { name: 'Ada' }, loginId: 'login-1', kind: 'page' } as const;
const TOKEN = { actor: { name: 'API token' }, loginId: null, kind: 'token' } as const;

async function setUp() {
  const { pass, ...clocks } = setClocks();
  const { store, platform } = await openTestStore(clocks.platform);
  let meanwhile: () => Promise<unknown> = async () => undefined;
  let result: Called = { kind: 'taken', receipt: null };
  const calls: Parameters<Caller['call']>[] = [];
  const caller: Caller = {
    async call(...call) {
      calls.push(call);
      await meanwhile();
      return result;
    },
  };
  const webhooks = createWebhooks({ store, platform, caller, publicUrl: null, onQueued: () => undefined });
  const add = (target: object, fields: object = {}, login: Parameters<typeof webhooks.add>[0] = PAGE) =>
    webhooks.add(login, NewWebhook.parse({ name: 'On call', target, ...fields }));
  const answers = (next: Called, during = meanwhile) => {
    result = next;
    meanwhile = during;
  };
  return { store, pass, webhooks, add, calls, answers };
}

const URL = 'https://hooks.example.com/services/T/B/very-secret';

it('shows a secret that it has made once, and no other secret ever', async () => {
  const { webhooks, add, store } = await setUp();
  const made = await add({ form: 'webhook', url: URL });
  expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const own = `whsec_${'B'.repeat(43)}=`;
  expect((await add({ form: 'webhook', url: URL, secret: own })).secret).toBeNull();
  await add({ form: 'slack', url: URL });
  await add({ form: 'discord', url: URL });
  await add({ form: 'ntfy', server: 'https://ntfy.example.com', topic: 'very-secret', token: 'very-secret' });
  await add({ form: 'telegram', token: '123456:very-secret-very-secret', chatId: '-100' });
  const listed = await webhooks.list();
  expect(listed.map(({ form, where }) => `${form}: ${where}`)).toEqual([
    ...['webhook: https://hooks.example.com', 'webhook: https://hooks.example.com', 'slack: https://hooks.example.com'],
    ...['discord: https://hooks.example.com', 'ntfy: https://ntfy.example.com', 'telegram: chat -100'],
  ]);
  expect(JSON.stringify(listed)).not.toMatch(/very-secret|whsec_/);
  expect(JSON.stringify(await store.read.webhooks.list())).toContain(made.secret);
  // None of it is an event either: those reach every page and the log.
  const { webhookId } = made.webhook;
  expect(await webhooks.change(PAGE, { webhookId, patch: { name: 'Night' } })).toMatchObject({ secret: null });
  expect((await webhooks.list())[0]).toMatchObject({ name: 'Night', form: 'webhook' });
  expect(JSON.stringify(await store.read.webhooks.find(webhookId))).toContain(made.secret);
});

it('takes a command from a page only, and shows it as it is run', async () => {
  const { webhooks, add } = await setUp();
  const command = { form: 'command', argv: ['notify-send', 'Call board', '$x'] } as const;
  await expect(add(command, {}, TOKEN)).rejects.toMatchObject({ code: 'page_only' });
  const { webhook } = await add(command);
  expect(webhook.where).toBe('notify-send "Call board" "$x"');
  const { webhook: other } = await add({ form: 'webhook', url: URL }, {}, TOKEN);
  const patch = { target: { ...command, argv: [...command.argv], timeLimitSeconds: 5 } };
  const change = { webhookId: other.webhookId, patch };
  await expect(webhooks.change(TOKEN, change)).rejects.toMatchObject({ code: 'page_only' });
  expect(await webhooks.change(PAGE, change)).toMatchObject({ webhook: { form: 'command' } });
});

it.each([
  { form: 'webhook', url: 'http://127.0.0.1:8080/x' },
  { form: 'ntfy', server: 'http://localhost:8080', topic: 'board' },
  { form: 'webhook', url: 'http://[::1]/x' },
])('refuses $form on this machine unless that is set', async (target) => {
  const { add } = await setUp();
  await expect(add(target)).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('On this machine'),
  });
  await add({ ...target, allowsThisMachine: true });
});

it('takes a receiver on this machine from a page only', async () => {
  const { webhooks, add } = await setUp();
  const here = { form: 'slack', url: 'http://127.0.0.1:8080/x', allowsThisMachine: true } as const;
  await expect(add(here, {}, TOKEN)).rejects.toMatchObject({ code: 'page_only' });
  // Also by a name that leads here only once it is looked up.
  await expect(add({ ...here, url: 'http://here.example.com/x' }, {}, TOKEN)).rejects.toMatchObject({
    code: 'page_only',
  });
  const { webhookId } = (await add(here)).webhook;
  const change = { webhookId, patch: { target: { ...here, url: 'http://127.0.0.1:9090/x' } } };
  await expect(webhooks.change(TOKEN, change)).rejects.toMatchObject({ code: 'page_only' });
  expect(await webhooks.list()).toMatchObject([{ where: 'http://127.0.0.1:8080' }]);
  await webhooks.change(PAGE, change);
});

it('adds nothing twice when the reply was lost, and gives it again for some minutes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { webhooks, store, pass } = await setUp();
  const input = {
    ...NewWebhook.parse({ name: 'On call', target: { form: 'webhook', url: URL } }),
    webhookId: randomUUID(),
  };
  const made = await webhooks.add(PAGE, input);
  expect(made).toMatchObject({ webhook: { webhookId: input.webhookId }, secret: expect.stringMatching(/^whsec_/) });
  expect(await webhooks.add(PAGE, input)).toEqual(made);
  const refused = { code: 'bad_request', message: expect.stringContaining('added before') };
  await expect(webhooks.add(PAGE, { ...input, name: 'Night' })).rejects.toMatchObject(refused);
  const elsewhere = { ...input, target: { ...input.target, url: `${URL}/other` } as typeof input.target };
  await expect(webhooks.add(PAGE, elsewhere)).rejects.toMatchObject(refused);
  await expect(webhooks.add(TOKEN, input)).rejects.toMatchObject(refused);
  await pass(11 * 60_000);
  await expect(webhooks.add(PAGE, input)).rejects.toMatchObject(refused);
  expect(await store.read.webhooks.list()).toHaveLength(1);
});

it('keeps nothing of a call to a receiver that was replaced meanwhile', async () => {
  const { webhooks, add, answers } = await setUp();
  const { webhookId } = (await add({ form: 'slack', url: URL })).webhook;
  const target = { form: 'slack', url: 'https://new.example.com/x', allowsThisMachine: false } as const;
  answers({ kind: 'refused', error: 'hooks.example.com refused.' }, () =>
    webhooks.change(PAGE, { webhookId, patch: { target } }),
  );
  await expect(webhooks.test(webhookId)).rejects.toMatchObject({ code: 'webhook_failed' });
  expect(await webhooks.list()).toMatchObject([{ where: 'https://new.example.com', problem: null, sentAt: null }]);
});

it.each([
  { form: 'webhook', url: 'ftp://example.com' },
  { form: 'webhook', url: 'https://user:pass@example.com' },
  { form: 'webhook', url: URL, secret: 'short' },
  { form: 'command', argv: [] },
  { form: 'command', argv: ['a\0b'] },
  { form: 'ntfy', server: 'https://ntfy.example.com', topic: '../admin' },
  { form: 'ntfy', server: 'https://ntfy.example.com', topic: 'board', token: 'a\r\nb: c' },
  { form: 'telegram', token: '1/../x', chatId: '1' },
  { form: 'telegram', token: '123456:abcdefghijklmnopqrstuvwxyz', chatId: 'x y' },
])('does not take %o', (target) => {
  expect(NewWebhook.safeParse({ name: 'On call', target }).success).toBe(false);
});

it('tests a receiver, and keeps what came of it until it changes', async () => {
  const { webhooks, add, calls, answers } = await setUp();
  const { webhookId } = (await add({ form: 'slack', url: URL })).webhook;
  expect(await webhooks.test(webhookId)).toMatchObject({ sentAt: expect.any(String), problem: null });
  expect(calls[0]?.[1]).toMatchObject({ event: { type: 'test' }, receipt: null });
  answers({ kind: 'refused', error: 'hooks.example.com did not answer in time.' });
  await expect(webhooks.test(webhookId)).rejects.toMatchObject({ code: 'webhook_failed' });
  expect(await webhooks.list()).toMatchObject([{ problem: { text: 'hooks.example.com did not answer in time.' } }]);
  await webhooks.change(PAGE, { webhookId, patch: { target: { form: 'slack', url: URL, allowsThisMachine: false } } });
  expect(await webhooks.list()).toMatchObject([{ problem: null }]);
});

it('refuses what does not exist', async () => {
  const { webhooks, add } = await setUp();
  const projectIds = [ProjectId.parse('nowhere')];
  await expect(add({ form: 'slack', url: URL }, { projectIds })).rejects.toMatchObject({ code: 'unknown_project' });
  const unknown = { code: 'unknown_webhook' };
  await expect(webhooks.remove('x')).rejects.toMatchObject(unknown);
  await expect(webhooks.test('x')).rejects.toMatchObject(unknown);
  await expect(webhooks.calls('x')).rejects.toMatchObject(unknown);
  await expect(webhooks.change(PAGE, { webhookId: 'x', patch: { isOn: false } })).rejects.toMatchObject(unknown);
});
