import { createHmac } from 'node:crypto';
import type { WebhookEvent, WebhookTarget } from '@callboard/contract';
import type { Post } from '../lib/post.ts';
import { bytesOf, escapeDiscord, escapeSlack, fit, textOf } from './message-text.ts';

/** A target that is called over HTTP. */
export type HttpTarget = Exclude<WebhookTarget, { form: 'command' }>;

/** One call. */
export interface Call {
  /** Whose call it is: what several of them run for one event are different runs. */
  webhookId: string;
  event: WebhookEvent;
  /** What the receiver calls the message that this one is a follow-up of; null if there is none. */
  receipt: string | null;
  now: Date;
}

/** What each service takes at most, with room for what is around it. */
const MAX_LENGTH = { slack: 2_900, discord: 1_900, telegram: 4_000, ntfyBytes: 4_000, ntfyTitleBytes: 240, url: 1_000 };

/** Returns the request of a call. */
export function requestOf(target: HttpTarget, call: Call): Post {
  switch (target.form) {
    case 'webhook':
      return signed(target, call);
    case 'ntfy':
      return ntfy(target, call.event);
    case 'slack':
      return json(target.url, slack(call.event));
    case 'discord':
      return json(confirmed(target.url), discord(call.event));
    case 'telegram':
      return telegram(target, call);
    default:
      return target satisfies never;
  }
}

const json = (url: string, body: object, headers: Record<string, string> = {}): Post => ({
  url,
  headers: { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'Callboard', ...headers },
  body: JSON.stringify(body),
});

/** Standard Webhooks: HMAC-SHA256 over the id, the time and the body. */
function signed({ url, secret = '' }: Extract<HttpTarget, { form: 'webhook' }>, { event, now }: Call): Post {
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const unsigned = json(url, event, { 'webhook-id': event.id, 'webhook-timestamp': timestamp });
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${event.id}.${timestamp}.${unsigned.body}`).digest('base64');
  return { ...unsigned, headers: { ...unsigned.headers, 'webhook-signature': `v1,${signature}` } };
}

const EMOJI = { waiting: 'bell', failed: 'x', finished: 'white_check_mark', settled: 'ok', test: 'wave' } as const;

function ntfy({ server, topic, token }: Extract<HttpTarget, { form: 'ntfy' }>, event: WebhookEvent): Post {
  const { title, text, url } = event.data;
  const body = {
    topic,
    title: fit(title, MAX_LENGTH.ntfyTitleBytes, undefined, bytesOf),
    message: fit(text === '' ? title : text, MAX_LENGTH.ntfyBytes, undefined, bytesOf),
    priority: event.type === 'waiting' || event.type === 'failed' ? 4 : 3,
    tags: [EMOJI[event.type]],
    ...(shortUrl(url) !== null && { click: url }),
  };
  return json(server, body, token === null ? {} : { authorization: `Bearer ${token}` });
}

/** A longer one would leave no room for the words. */
const shortUrl = (url: string | null): string | null => (url !== null && url.length <= MAX_LENGTH.url ? url : null);

/** The words stand in a plain text, the link in a block of its own. */
function slack(event: WebhookEvent): object {
  const text = fit(textOf(event), MAX_LENGTH.slack, escapeSlack);
  const url = shortUrl(event.data.url);
  const link = url === null ? '' : [...url].map(escapeSlack).join('').replaceAll('|', '%7C');
  return {
    text,
    mrkdwn: false,
    link_names: false,
    parse: 'none',
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'section', text: { type: 'plain_text', text, emoji: false } },
      ...(link === ''
        ? []
        : [{ type: 'context', elements: [{ type: 'mrkdwn', text: `<${link}|Open in Callboard>`, verbatim: true }] }]),
    ],
  };
}

/** Discord answers once it has stored the message. */
function confirmed(url: string): string {
  const address = new URL(url);
  address.searchParams.set('wait', 'true');
  return address.href;
}

const SUPPRESS_EMBEDS = 4;

function discord(event: WebhookEvent): object {
  const url = shortUrl(event.data.url);
  const link = url === null ? '' : `\n<${url}>`;
  const content = `${fit(textOf(event), MAX_LENGTH.discord - link.length, escapeDiscord)}${link}`;
  return { content, allowed_mentions: { parse: [] }, flags: SUPPRESS_EMBEDS };
}

/** In a code entity nothing is a mention, a command or a link. Offsets count UTF-16 units, as JavaScript does. */
function telegram(
  { server, token, chatId }: Extract<HttpTarget, { form: 'telegram' }>,
  { event, receipt }: Call,
): Post {
  const url = shortUrl(event.data.url);
  const title = fit(event.data.title, MAX_LENGTH.telegram - MAX_LENGTH.url);
  const text = fit(event.data.text, MAX_LENGTH.telegram - title.length - (url?.length ?? 0));
  const entities = [
    { type: 'code', offset: 0, length: title.length },
    ...(text === '' ? [] : [{ type: 'pre', offset: title.length + 1, length: text.length }]),
  ];
  const body = {
    chat_id: chatId,
    ...(receipt !== null && { message_id: Number(receipt) }),
    text: [title, text, url ?? ''].filter((part) => part !== '').join('\n'),
    entities,
    link_preview_options: { is_disabled: true },
  };
  const method = receipt === null ? 'sendMessage' : 'editMessageText';
  return json(`${server.replace(/\/+$/, '')}/bot${token}/${method}`, body);
}
