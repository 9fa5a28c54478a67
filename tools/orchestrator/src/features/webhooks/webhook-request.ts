import { createHmac } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { StageId, type WebhookEvent, type WebhookTarget } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import type { endCommand, runWithInput } from '../../core/shell/run-command.ts';
import { parseJson, untrustedText } from '../../lib/text.ts';
import { type Post, type Posted, post } from '../../platform/post.ts';

interface OutgoingCommandDeps {
  /** Starts a program with a text as its input. */
  start: (job: Parameters<typeof runWithInput>[1]) => ReturnType<typeof runWithInput>;
  endLeft: (id: string) => ReturnType<typeof endCommand>;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  home: string;
}

/** Where the commands' files are, beside those of the stages. */
const PLACE = StageId.parse('outgoing');
/** What a program needs to find its files, its language and the person's desktop. Nothing else is passed on, above all no secret. */
const PASSED_ON =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|DBUS_SESSION_BUS_ADDRESS|XDG_[A-Z_]+)$/;
const MAX_REPORTED = 300;

/** Returns the environment of a command: what `PASSED_ON` names, and the event. */
function environmentOf(env: Readonly<Record<string, string>>, { event }: Call): Record<string, string> {
  const { signal, title, text, url, project, stage, request } = event.data;
  const reported: Record<string, string | null | undefined> = {
    CALLBOARD_EVENT_ID: event.id,
    CALLBOARD_EVENT: event.type,
    CALLBOARD_SIGNAL: signal,
    CALLBOARD_TITLE: title,
    CALLBOARD_TEXT: text,
    CALLBOARD_URL: url,
    CALLBOARD_PROJECT: project?.name,
    CALLBOARD_STAGE: stage?.id,
    CALLBOARD_STAGE_TITLE: stage?.title,
    CALLBOARD_REQUEST: request?.id,
    CALLBOARD_TOOL: request?.toolName,
  };
  const passed = Object.entries(env).filter(([name]) => PASSED_ON.test(name));
  return Object.fromEntries([
    ...passed,
    ...Object.entries(reported).map(([name, value]) => [name, (value ?? '').replaceAll('\0', '')] as const),
  ]);
}

/**
 * Runs the commands of calls: no shell, the person's home as the folder, the event in the environment and as the input. All processes of a
 * command have ended when its call has, at the latest after its time limit. What an attempt before a crash has left running is ended first.
 */
export const createOutgoingCommands =
  ({ start, endLeft, env, home }: OutgoingCommandDeps): RunCommand =>
  async ({ argv, timeLimitSeconds }, call, signal): Promise<Called> => {
    const [command = '', ...args] = argv;
    const id = `outgoing-${call.webhookId}-${call.event.id}`;
    try {
      await endLeft(id);
      if (signal.aborted) return { kind: 'refused', error: STOPPED };
      const running = await start({
        id,
        stageId: PLACE,
        command,
        args,
        cwd: home,
        env: environmentOf(env, call),
        isPersons: true,
        input: JSON.stringify(call.event),
        timeLimitMs: timeLimitSeconds * 1_000,
        onSpawned: async () => undefined,
      });
      const stop = () => running.end({ state: 'stopped', reason: STOPPED });
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop(); // while it was being started
      const { state, reason, output } = await running.ended;
      signal.removeEventListener('abort', stop);
      if (state === 'passed') return { kind: 'taken', receipt: null };
      const said = untrustedText(output, -MAX_REPORTED);
      return {
        kind: 'refused',
        error: `${reason ?? 'The command failed.'}${said === '' ? '' : ` It printed: ${said}`}`,
      };
    } catch (error) {
      return {
        kind: 'refused',
        error: `The command could not be run: ${error instanceof Error ? error.message : error}`,
      };
    }
  };

/**
 * Ends what commands of an earlier run of Callboard have left running, whose time limit went with it, and removes their files. Each is known by
 * its files, which are written before it starts: those of another Callboard on this machine are left alone. What cannot be ended keeps its files
 * for the next start.
 *
 * @param commands the folder of the files of all commands
 * @throws a system error if the files cannot be read or removed
 */
export async function endOutgoingLeft({
  commands,
  endLeft,
}: { commands: string } & Pick<OutgoingCommandDeps, 'endLeft'>): Promise<void> {
  const folder = join(commands, PLACE);
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  });
  const ids = new Set(names.map((name) => name.split('.')[0] ?? '').filter((id) => id.startsWith('outgoing-')));
  const ended = await Promise.all([...ids].map(endLeft));
  if (ended.every(Boolean)) await rm(folder, { recursive: true, force: true });
}

const STOPPED = 'Callboard was stopped before the command had ended.';

/**
 * What became of a call. `afterMs`: the receiver wants none before. `isFinal`: repeating it is of no use. `isGone`: nothing will ever
 * be taken at this address again.
 */
export type Called =
  | { kind: 'taken'; receipt: string | null }
  | { kind: 'refused'; error: string; afterMs?: number; isFinal?: boolean; isGone?: true };

/** Runs the command of a call to its end. Never rejects. */
export type RunCommand = (
  target: Extract<WebhookTarget, { form: 'command' }>,
  call: Call,
  signal: AbortSignal,
) => Promise<Called>;

/** Makes calls to the outside. */
export interface Caller {
  /** Resolves when the receiver has answered, or could not be reached. Never rejects. */
  call(target: WebhookTarget, call: Call, signal: AbortSignal): Promise<Called>;
}

interface CallerDeps {
  runCommand: RunCommand;
  timeLimitMs?: number;
  /** Certificates to trust, for tests. */
  ca?: string;
}

const TIME_LIMIT_MS = 10_000;

export function createCaller({ runCommand, timeLimitMs = TIME_LIMIT_MS, ca }: CallerDeps): Caller {
  return {
    async call(target, call, signal) {
      if (target.form === 'command') return runCommand(target, call, signal);
      const request = requestOf(target, call);
      const { url } = request;
      const refuse = (address: string) => refuseReceiver({ url, allowsThisMachine: target.allowsThisMachine }, address);
      return calledOf(target, await post(request, { refuse, timeLimitMs, ca }, signal));
    },
  };
}

/** What an answer says beside its status: Telegram and Discord when to come again, Telegram also the number of the message and why not. */
const Answer = z.object({
  description: z.string().optional(),
  parameters: z.object({ retry_after: z.number().optional() }).optional(),
  retry_after: z.number().optional(),
  result: z.object({ message_id: z.int() }).optional(),
});

/** The receiver refuses this very message, or every one from now on. */
const FINAL = [400, 410, 413, 422];
/** "Gone": the receiver was there, and wants no more calls. */
const GONE = 410;

function calledOf(target: HttpTarget, posted: Posted): Called {
  if (posted.kind === 'unreached') return { kind: 'refused', error: posted.error };
  const { status, text } = posted;
  const answer = Answer.safeParse(parseJson(text)).data;
  if (status >= 200 && status < 300) {
    const number = target.form === 'telegram' ? answer?.result?.message_id : undefined;
    return { kind: 'taken', receipt: number === undefined ? null : String(number) };
  }
  // Its message says already what it is to be changed to: an earlier attempt has done it.
  if (target.form === 'telegram' && status === 400 && answer?.description?.includes('message is not modified'))
    return { kind: 'taken', receipt: null };
  const { hostname } = new URL('url' in target ? target.url : target.server);
  if (status >= 300 && status < 400)
    return {
      kind: 'refused',
      error: `${hostname} redirects (status ${status}), which Callboard does not follow. Enter the final address.`,
    };
  const said = untrustedText(withoutSecrets(target, answer?.description ?? text), MAX_REPORTED);
  const error = `${hostname} refused the call with status ${status}${said === '' ? '.' : `: ${said}`}`;
  const wait = answer?.parameters?.retry_after ?? answer?.retry_after ?? 0;
  const afterMs = Math.max(posted.afterMs, wait * 1_000);
  const gone = status === GONE && { isGone: true as const };
  return { kind: 'refused', error, isFinal: FINAL.includes(status), ...gone, ...(afterMs > 0 && { afterMs }) };
}

/** A receiver may repeat what it was sent, also in JSON, where a slash may have a backslash before it. */
function withoutSecrets(target: HttpTarget, text: string): string {
  const longestFirst = secretsOf(target).toSorted((a, b) => b.length - a.length);
  return longestFirst
    .flatMap((secret) => [secret, secret.replaceAll('/', '\\/')])
    .reduce((saved, secret) => saved.replaceAll(secret, '…'), text);
}

/** A part of an address that is at least so long may be a secret: shorter ones are words like `hooks`. */
const SHORTEST_SECRET = 8;

function secretsOf(target: HttpTarget): string[] {
  switch (target.form) {
    case 'ntfy':
      return [target.topic, ...(target.token === null ? [] : [target.token])];
    case 'telegram':
      return [target.token];
    default: {
      const { href, pathname, search } = new URL(target.url);
      const whole = [href, `${pathname}${search}`, pathname].filter((part) => part.length > 1);
      const own = target.form === 'webhook' && target.secret !== undefined ? [target.secret] : [];
      return [...whole, ...partsOf(target.url), ...own];
    }
  }
}

/** Returns the parts of an address that may be secrets, as they are written and as they are meant. */
function partsOf(url: string): string[] {
  const { pathname, search, searchParams } = new URL(url);
  const written = [...pathname.split('/'), ...search.slice(1).split(/[&=]/)];
  const meant = [...written.map(decoded), ...searchParams.values()];
  return [...new Set([...written, ...meant])].filter((part) => part.length >= SHORTEST_SECRET);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const thisMachine = new BlockList();
thisMachine.addSubnet('127.0.0.0', 8, 'ipv4');
thisMachine.addSubnet('0.0.0.0', 8, 'ipv4');
thisMachine.addAddress('::1', 'ipv6');
thisMachine.addAddress('::', 'ipv6');

/** Nobody's receiver is there: what a cloud tells its machines, link-local addresses, and those of many at once. */
const nobodys = new BlockList();
nobodys.addSubnet('169.254.0.0', 16, 'ipv4');
nobodys.addAddress('100.100.100.200', 'ipv4');
nobodys.addSubnet('224.0.0.0', 3, 'ipv4');
nobodys.addSubnet('fe80::', 10, 'ipv6');
nobodys.addAddress('fd00:ec2::254', 'ipv6');
nobodys.addSubnet('ff00::', 8, 'ipv6');

/** Where plain http may go: nobody on the internet can listen there. */
const privateNetworks = new BlockList();
privateNetworks.addSubnet('10.0.0.0', 8, 'ipv4');
privateNetworks.addSubnet('172.16.0.0', 12, 'ipv4');
privateNetworks.addSubnet('192.168.0.0', 16, 'ipv4');
privateNetworks.addSubnet('100.64.0.0', 10, 'ipv4');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');

/** Why a receiver at `this machine` is not called without its own setting. */
export const THIS_MACHINE =
  'it is the machine of Callboard itself; turn on "On this machine" if the receiver is meant to be there';

/** The addresses by which others reach this machine. They come and go with its networks. */
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address));

/**
 * Returns why a receiver must not be called at an address; null if it may. Private networks are the choice of whoever runs Callboard. What is
 * said on the way to the internet is encrypted.
 *
 * @param own the addresses of this machine in its networks
 */
export function refuseReceiver(
  { url, allowsThisMachine }: { url: string; allowsThisMachine: boolean },
  address: string,
  own: readonly string[] = ownAddresses(),
): string | null {
  const plain = withoutTranslation(address.replace(/%.*$/, ''));
  const family = isIPv6(plain) ? 'ipv6' : 'ipv4';
  if (nobodys.check(plain, family)) return 'no receiver can be at such an address';
  if (thisMachine.check(plain, family) || isOneOf(own, plain)) return allowsThisMachine ? null : THIS_MACHINE;
  if (url.startsWith('https:') || privateNetworks.check(plain, family)) return null;
  return 'it is on the internet, where everybody on the way could read the call; use an address with https';
}

/** Compares as addresses, since one of IPv6 can be written in several ways. */
function isOneOf(addresses: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const one of addresses) list.addAddress(one.replace(/%.*$/, ''), isIPv6(one) ? 'ipv6' : 'ipv4');
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Returns the IPv4 address that one of 64:ff9b::/96 is translated to on the way; others as they are. */
function withoutTranslation(address: string): string {
  if (!isIPv6(address)) return address;
  const { hostname } = new URL(`http://[${address}]`);
  const rest = /^\[64:ff9b::(?:([\da-f]{1,4}):)?([\da-f]{0,4})\]$/.exec(hostname);
  if (rest === null) return address;
  const words = [rest[1], rest[2]].map((word = '') => Number.parseInt(word === '' ? '0' : word, 16));
  return words.flatMap((word) => [word >> 8, word & 255]).join('.');
}

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

/** How long a text is for a service. */
type Measure = (text: string) => number;

/**
 * Returns as much of a text as fits, escaped. Whole characters only, so that neither a pair of surrogates nor an escape is cut in two.
 * @param escaped escapes one character
 */
export function fit(
  text: string,
  longest: number,
  escaped: (character: string) => string = (character) => character,
  measure: Measure = (one) => one.length,
): string {
  const parts: string[] = [];
  let [length, cutAt] = [0, 0];
  const room = longest - measure('…');
  for (const character of text) {
    const part = escaped(character);
    length += measure(part);
    if (length > longest) return `${parts.slice(0, cutAt).join('')}…`;
    parts.push(part);
    if (length <= room) cutAt = parts.length;
  }
  return parts.join('');
}

/** Bytes in UTF-8. */
export const bytesOf: Measure = (text) => Buffer.byteLength(text);

const SLACK: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Slack's control characters: without them nothing is a mention, a link or markup of a plain text. */
export const escapeSlack = (character: string): string => SLACK[character] ?? character;

/** Discord takes a backslash before any sign as that very sign. */
export const escapeDiscord = (character: string): string =>
  /[\\*_~`|>#@<:[\]()\-+.!]/.test(character) ? `\\${character}` : character;

/** The title and, if there is one, the text. */
const textOf = ({ data: { title, text } }: WebhookEvent): string => (text === '' ? title : `${title}\n${text}`);
