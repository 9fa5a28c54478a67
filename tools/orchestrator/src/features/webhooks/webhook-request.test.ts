import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type WebhookEvent, WebhookTarget } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { stageId } from '../../../test/support/test-store.ts';
import { bytesOf, escapeDiscord, escapeSlack, fit, type HttpTarget, requestOf } from './webhook-request.ts';

type Verify = (secret: string, headers: object, body: string) => boolean;

const now = new Date('2026-01-02T03:04:05.000Z');
const URL_OF_PAGE = 'https://board.example.com/inbox?request=S1%2Fr1';

const event = (title: string, text: string, url: string | null = URL_OF_PAGE): WebhookEvent => ({
  id: 'msg_1',
  type: 'waiting',
  timestamp: now.toISOString(),
  data: {
    signal: 'waiting',
    title,
    text,
    url,
    project: null,
    request: null,
    stage: { id: stageId('S1'), title },
  },
});

function http(target: unknown): HttpTarget {
  const parsed = WebhookTarget.parse(target);
  if (parsed.form === 'command') throw new Error('a command has no request');
  return parsed;
}

const TARGETS = {
  ntfy: http({ form: 'ntfy', server: 'https://ntfy.example.com', topic: 'board', token: 'tk_secret' }),
  slack: http({ form: 'slack', url: 'https://hooks.example.com/services/T/B/x' }),
  discord: http({ form: 'discord', url: 'https://discord.example.com/api/webhooks/1/x' }),
  telegram: http({ form: 'telegram', token: '123456:abcdefghijklmnopqrstuvwxyz', chatId: '@board' }),
};

function sent(form: keyof typeof TARGETS, reported: WebhookEvent, receipt: string | null = null) {
  const { url, headers, body } = requestOf(TARGETS[form], { webhookId: 'w1', event: reported, receipt, now });
  return { url, headers, body: JSON.parse(String(body)) };
}

const EVIL = '<!channel> @everyone <@U1> *b* [x](https://evil.example.com) `code` & ||s||';

it('speaks the format of ntfy', () => {
  expect(sent('ntfy', event('Login: needs you', 'make'))).toMatchObject({
    url: 'https://ntfy.example.com',
    headers: { authorization: 'Bearer tk_secret', 'content-type': 'application/json; charset=utf-8' },
    body: {
      topic: 'board',
      title: 'Login: needs you',
      message: 'make',
      priority: 4,
      tags: ['bell'],
      click: URL_OF_PAGE,
    },
  });
  expect(sent('ntfy', event('Login: needs you', '', null)).body).not.toHaveProperty('click');
  expect(sent('ntfy', event('Login', EVIL)).body).not.toHaveProperty('markdown');
});

it('speaks the format of Slack, whose control characters it escapes', () => {
  const { url, body } = sent('slack', event('Login: needs you', EVIL));
  const text = `Login: needs you\n&lt;!channel&gt; @everyone &lt;@U1&gt; *b* [x](https://evil.example.com) \`code\` &amp; ||s||`;
  expect(url).toBe('https://hooks.example.com/services/T/B/x');
  expect(body).toMatchObject({ text, mrkdwn: false, link_names: false, parse: 'none' });
  expect(body.blocks).toEqual([
    { type: 'section', text: { type: 'plain_text', text, emoji: false } },
    { type: 'context', elements: [{ type: 'mrkdwn', text: `<${URL_OF_PAGE}|Open in Callboard>`, verbatim: true }] },
  ]);
});

it('speaks the format of Discord, in which nobody is mentioned and nothing is markup', () => {
  const { url, body } = sent('discord', event('Login: needs you', EVIL));
  expect(url).toBe('https://discord.example.com/api/webhooks/1/x?wait=true');
  expect(body.allowed_mentions).toEqual({ parse: [] });
  expect(body.content).toBe(
    `Login\\: needs you\n\\<\\!channel\\> \\@everyone \\<\\@U1\\> \\*b\\* \\[x\\]\\(https\\://evil\\.example\\.com\\) \\\`code\\\` & \\|\\|s\\|\\|\n<${URL_OF_PAGE}>`,
  );
});

it('speaks the format of Telegram, with the words in entities that hold no mention, command or link', () => {
  const { url, body } = sent('telegram', event('Login 🐛: needs you', '@everyone /start'));
  expect(url).toBe('https://api.telegram.org/bot123456:abcdefghijklmnopqrstuvwxyz/sendMessage');
  expect(body).toMatchObject({ chat_id: '@board', link_preview_options: { is_disabled: true } });
  expect(body).not.toHaveProperty('parse_mode');
  const [title, text] = body.entities.map(({ offset, length }: { offset: number; length: number }) =>
    body.text.slice(offset, offset + length),
  );
  expect([title, text]).toEqual(['Login 🐛: needs you', '@everyone /start']);
  expect(body.text).toBe(`Login 🐛: needs you\n@everyone /start\n${URL_OF_PAGE}`);
  const edited = sent('telegram', event('Login: answered', ''), '77');
  expect(edited.url).toMatch(/\/editMessageText$/);
  expect(edited.body).toMatchObject({ message_id: 77, entities: [{ type: 'code', offset: 0, length: 15 }] });
});

it('keeps within the length that each service takes, whatever the words', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 6_000 }),
    fc.constantFrom('&'.repeat(9_000), '@'.repeat(9_000), '🐛'.repeat(5_000), 'ü'.repeat(9_000)),
  );
  const check = fc.property(text, text, fc.boolean(), (title, text, hasUrl) => {
    const reported = event(title, text, hasUrl ? URL_OF_PAGE : null);
    expect(sent('slack', reported).body.text.length).toBeLessThanOrEqual(3_000);
    expect(sent('discord', reported).body.content.length).toBeLessThanOrEqual(2_000);
    expect(sent('telegram', reported).body.text.length).toBeLessThanOrEqual(4_096);
    const { message, title: heading } = sent('ntfy', reported).body;
    expect(bytesOf(message)).toBeLessThanOrEqual(4_096);
    expect(bytesOf(heading)).toBeLessThanOrEqual(250);
  });
  fc.assert(check, { numRuns: 60 });
});

it('leaves no control character of Slack and no bare sign of Discord, also where a text is cut', () => {
  const signs = fc.string({ unit: fc.constantFrom(...'<>&@*_~`|[]()!#\\a '), maxLength: 60 });
  const check = fc.property(signs, fc.integer({ min: 1, max: 60 }), (text, longest) => {
    expect(fit(text, longest, escapeSlack).replaceAll(/&(amp|lt|gt);/g, '')).not.toMatch(/[<>&]/);
    expect(fit(text, longest, escapeDiscord).replaceAll(/\\[^A-Za-z0-9\s]/g, '')).not.toMatch(/[\\<>@*_~`|[\]()]/);
  });
  fc.assert(check, { numRuns: 2_000 });
});

it('cuts whole characters', () => {
  expect(fit('ab🐛cd', 4)).toBe('ab…');
  expect(fit('abcd', 4)).toBe('abcd');
  expect(fit('a&b', 5, escapeSlack)).toBe('a…');
  expect(fit('üüü', 5, undefined, bytesOf)).toBe('ü…');
});

it('signs so that the code of docs/outgoing.md accepts it, and nothing else', async () => {
  const page = await readFile(new URL('../../../../../docs/outgoing.md', import.meta.url), 'utf8');
  const [, code = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
  const file = join(await temporaryFolder(), 'verify.mjs');
  await writeFile(file, code);
  const { isFromCallboard } = z.object({ isFromCallboard: z.custom<Verify>() }).parse(await import(file));
  const secret = `whsec_${'A'.repeat(43)}=`;
  const target = http({ form: 'webhook', url: 'https://hooks.example.com', secret });
  const { headers, body } = requestOf(target, {
    webhookId: 'w1',
    event: event('Login — grün', 'make'),
    receipt: null,
    now: new Date(),
  });
  expect(isFromCallboard(secret, headers, String(body))).toBe(true);
  expect(isFromCallboard(secret, headers, `${body} `)).toBe(false);
  expect(isFromCallboard(`whsec_${'B'.repeat(43)}=`, headers, String(body))).toBe(false);
  expect(isFromCallboard(secret, { ...headers, 'webhook-id': 'msg_2' }, String(body))).toBe(false);
  const old = requestOf(target, { webhookId: 'w1', event: event('Login', 'make'), receipt: null, now });
  expect(isFromCallboard(secret, old.headers, String(old.body))).toBe(false);
});
