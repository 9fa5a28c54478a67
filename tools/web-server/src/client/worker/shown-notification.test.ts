import { Decision, type PushMessage, RequestId, StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { expect, it } from 'vitest';
import {
  answeredMessage,
  pageOrOffline,
  readPushed,
  refusedMessage,
  shownNotification,
  verdictOf,
} from './worker-handlers.ts';

const request = { stageId: StageId.parse('STAGE-1'), requestId: RequestId.parse('r1') };
const message: PushMessage = {
  tag: 'request STAGE-1 r1',
  title: 'Checkout: a: run this command?',
  body: 'npm test',
  signal: 'waiting',
  path: '/inbox?request=STAGE-1%2Fr1',
  request,
  actions: 'deny',
  isSettled: false,
};
const buttons = (shown: PushMessage) => shownNotification(shown).options.actions.map(({ title }) => title);

it('has Allow only where the message offers it, and what is settled replaces it without a sound', () => {
  expect(shownNotification(message)).toMatchObject({
    title: 'Checkout: a: run this command?',
    options: { body: 'npm test', tag: message.tag, silent: false, renotify: false, data: message },
  });
  expect(buttons(message)).toEqual(['Open', 'Deny']);
  expect(buttons({ ...message, actions: 'allow-or-deny' })).toEqual(['Allow', 'Deny']);
  expect(buttons({ ...message, actions: 'none' })).toEqual(['Open']);
  const settled = shownNotification({ ...message, isSettled: true, actions: 'none' });
  expect(settled.options).toMatchObject({ tag: message.tag, silent: true, renotify: false, actions: [] });
});

it('sends only what a button of that notification offered', () => {
  expect(verdictOf('deny', message)).toBe('deny');
  expect(verdictOf('allow', message)).toBeNull();
  expect(verdictOf('', { ...message, actions: 'allow-or-deny' })).toBeNull(); // a click beside the buttons
  expect(verdictOf('open', message)).toBeNull();
  expect(verdictOf('allow', { ...message, actions: 'allow-or-deny' })).toBe('allow');
  expect(verdictOf('deny', { ...message, actions: 'none' })).toBeNull();
  expect(verdictOf('deny', { ...message, request: null })).toBeNull();
});

it('shows a message that it cannot read as a call to the board, with nothing to answer', () => {
  expect(readPushed(JSON.stringify(message))).toEqual(message);
  for (const text of [undefined, '', '{', '{"title":"of another version"}']) {
    expect(readPushed(text)).toMatchObject({ title: 'Callboard', path: '/', request: null, actions: 'none' });
  }
});

it('says what became of an answer: taken, too late and whose came first, or not delivered', () => {
  expect(answeredMessage(message, 'denied')).toMatchObject({
    title: 'Checkout: a: denied',
    tag: message.tag,
    request: null,
    actions: 'none',
    isSettled: true,
  });
  const decision = Decision.parse({
    stageId: 'STAGE-1',
    requestId: 'r1',
    kind: 'approval',
    outcome: 'allowed',
    by: 'Ada',
    toolName: 'Bash',
    toolUseId: 'toolu_1',
    at: '2026-01-02T12:00:00.000Z',
    waitedMs: 1,
    reason: null,
    answers: null,
    updatedInput: null,
    denial: null,
    delivery: 'confirmed',
    settlement: null,
  });
  const late = new TransportError(409, 'already_decided', 'Decided.', { decision });
  expect(refusedMessage(message, 'deny', late)).toMatchObject({
    title: 'Checkout: a: already allowed by Ada',
    body: 'Your answer was not used.',
    request: null,
  });
  const away = new TransportError(0, 'network', 'Callboard did not answer.');
  expect(refusedMessage(message, 'deny', away)).toMatchObject({
    title: 'Checkout: a: not denied',
    body: 'Callboard did not answer. Open Callboard to answer.',
    path: message.path,
    request: null,
    actions: 'none',
    isSettled: false,
  });
});

it('stands in for a page only if the server, or its proxy, gives none', async () => {
  const real = await pageOrOffline(async () => new Response('the board'));
  expect([real.status, await real.text()]).toEqual([200, 'the board']);
  const broken = await pageOrOffline(async () => new Response('a mistake', { status: 500 }));
  expect(await broken.text()).toBe('a mistake');
  for (const load of [
    () => Promise.reject(new TypeError('offline')),
    async () => new Response('nginx', { status: 502 }),
  ]) {
    const page = await pageOrOffline(load);
    expect([page.status, page.headers.get('cache-control')]).toEqual([503, 'no-store']);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('Callboard cannot be reached');
  }
});
