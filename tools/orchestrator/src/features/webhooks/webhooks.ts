import { hash, randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  type CommandInput,
  type CommandReply,
  DEFAULT_ALERTS,
  FORMS_WITH_FOLLOW_UP,
  hostLocation,
  type StageId,
  visibleText,
  Webhook,
  WebhookCall,
  type WebhookEvent,
  type WebhookTarget,
} from '@callboard/contract';
import { type CommandHandlers, requireLogin } from '../../core/commands/command-handler.ts';
import type { Authenticated } from '../../core/commands/logins.ts';
import type {
  Channel,
  Message,
  notificationOf,
  Outcome,
  settledNotificationOf,
} from '../../core/session/notification-channel.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { AnnouncementRecord, DeliveryPhase, DeliveryRecord, WebhookRecord } from '../../store/ports/event-port.ts';
import type { Store, Tables, Tx } from '../../store/store.ts';
import { type Called, type Caller, THIS_MACHINE } from './webhook-request.ts';

/** The calls to the outside, which all people of the board share. Secrets go in and never come out. */
export interface Webhooks {
  list(): Promise<Webhook[]>;
  /**
   * The same again, with the same `webhookId`, adds nothing and replies the same, for some minutes: the reply may have been lost.
   * @throws Rejection `page_only` for a command, or a receiver on this machine, from elsewhere than a page; `bad_request`; `unknown_project`
   */
  add(login: Authenticated, webhook: CommandInput<'add_webhook'>): Promise<CommandReply<'add_webhook'>>;
  /** @throws Rejection as `add`; `unknown_webhook` */
  change(login: Authenticated, change: CommandInput<'change_webhook'>): Promise<CommandReply<'change_webhook'>>;
  /** @throws Rejection `unknown_webhook` */
  remove(webhookId: string): Promise<Webhook>;
  /** Resolves when the receiver has taken a test. @throws Rejection `unknown_webhook`; `webhook_failed` with the cause */
  test(webhookId: string): Promise<Webhook>;
  /** Its newest calls, newest first. @throws Rejection `unknown_webhook` */
  calls(webhookId: string): Promise<WebhookCall[]>;
  /** Makes a call again, or now. @throws Rejection `unknown_webhook`, `unknown_call` */
  repeat(call: CommandInput<'repeat_webhook_call'>): Promise<WebhookCall>;
  /** Ends tests that are under way. */
  stop(): void;
}

interface WebhooksDeps {
  store: Store;
  platform: Pick<Platform, 'newId' | 'now'>;
  caller: Caller;
  publicUrl: string | null;
  /** Called after a call has become due. */
  onQueued: () => void;
}

const MAX_CALLS = 50;
const MAX_WEBHOOKS = 100;
const SECRET_BYTES = 32;

export function createWebhooks({ store, platform, caller, publicUrl, onQueued }: WebhooksDeps): Webhooks {
  const stopping = new AbortController();

  return {
    list: async () => (await store.read.webhooks.list()).map(toWebhook),
    add: (login, { webhookId = platform.newId(), target: given, ...choices }) =>
      store.transact(async (tx) => {
        const before = await tx.webhooks.find(webhookId);
        if (before !== null) return addedBefore(login, before, { target: given, ...choices }, tx.now);
        const { target, secret } = checkedTarget(login, given);
        await requireProjects(tx, choices.projectIds);
        if ((await tx.webhooks.list()).length >= MAX_WEBHOOKS)
          throw new Rejection('bad_request', `There are ${MAX_WEBHOOKS} already. Remove one first.`);
        const made = { webhookId, createdAt: tx.now, createdBy: login.actor.name };
        const record = { ...choices, ...made, target, sentAt: null, problem: null };
        await tx.webhooks.save(record);
        return { webhook: toWebhook(record), secret };
      }),
    change: (login, { webhookId, patch: { target: given, ...choices } }) =>
      store.transact(async (tx) => {
        const before = await requireWebhook(tx, webhookId);
        const { target, secret } =
          given === undefined ? { target: before.target, secret: null } : checkedTarget(login, given);
        await requireProjects(tx, choices.projectIds ?? null);
        // What failed there says nothing about another receiver.
        const problem = given === undefined ? before.problem : null;
        const record = { ...before, ...withoutUndefined(choices), target, problem };
        await tx.webhooks.save(record);
        return { webhook: toWebhook(record), secret };
      }),
    remove: (webhookId) =>
      store.transact(async (tx) => {
        const record = await requireWebhook(tx, webhookId);
        await tx.webhooks.remove(webhookId);
        return toWebhook(record);
      }),
    async test(webhookId) {
      const { target } = await requireWebhook(store.read, webhookId);
      const now = platform.now();
      const event = testEvent(platform.newId(), now.toISOString(), publicUrl);
      const called = await caller.call(target, { webhookId, event, receipt: null, now }, stopping.signal);
      await store.transact((tx) => noteCalled(tx, { webhookId, target }, called));
      if (called.kind === 'refused')
        throw new Rejection('webhook_failed', `The test was not accepted. ${called.error}`);
      return toWebhook(await requireWebhook(store.read, webhookId));
    },
    async calls(webhookId) {
      await requireWebhook(store.read, webhookId);
      const rows = await store.read.deliveries.listTo(WEBHOOK_CHANNEL, webhookId, MAX_CALLS);
      return Promise.all(rows.map((row) => toCall(store.read, row)));
    },
    repeat: ({ webhookId, callId }) =>
      store.transact(async (tx) => {
        await requireWebhook(tx, webhookId);
        const row = await tx.deliveries.find(Number(callId));
        if (row === null || row.channel !== WEBHOOK_CHANNEL || row.target !== webhookId)
          throw new Rejection('unknown_call', 'This call is no longer kept.');
        await tx.deliveries.update(row.id, { state: 'queued', dueAt: tx.now, error: null });
        tx.afterCommit(onQueued);
        return toCall(tx, { ...row, state: 'queued', dueAt: tx.now, error: null });
      }),
    stop: () => stopping.abort(),
  };
}

/** Fields that a patch leaves out stay. */
const withoutUndefined = <T extends object>(patch: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as never; // which TypeScript cannot tell of entries

async function requireWebhook(tables: Pick<Tables, 'webhooks'>, webhookId: string): Promise<WebhookRecord> {
  const found = await tables.webhooks.find(webhookId);
  if (found !== null) return found;
  throw new Rejection('unknown_webhook', 'There is no such call any more; it may have been removed.');
}

async function requireProjects(tables: Pick<Tables, 'projects'>, projectIds: WebhookRecord['projectIds']) {
  for (const projectId of projectIds ?? [])
    if ((await tables.projects.find(projectId)) === null)
      throw new Rejection('unknown_project', `There is no project ${projectId}.`);
}

/** How long the reply to `add` can be had again. The secret in it is not to be read for good. */
const REPEATABLE_MS = 10 * 60_000;

/** Returns the reply of the `add` that made this one, if this is the same `add` again. */
function addedBefore(
  { actor }: Authenticated,
  before: WebhookRecord,
  { target: given, ...choices }: Omit<CommandInput<'add_webhook'>, 'webhookId'>,
  now: string,
): CommandReply<'add_webhook'> {
  const { target, createdAt, createdBy } = before;
  const made = target.form === 'webhook' && given.form === 'webhook' && given.secret === undefined && target.secret;
  const asGiven = made ? { ...target, secret: undefined } : target;
  const isSame =
    isDeepStrictEqual(withoutUndefined({ ...asGiven }), withoutUndefined({ ...given })) &&
    isDeepStrictEqual({ ...before, ...choices }, before) &&
    createdBy === actor.name &&
    Date.parse(now) - Date.parse(createdAt) <= REPEATABLE_MS;
  if (isSame) return { webhook: toWebhook(before), secret: made || null };
  throw new Rejection('bad_request', 'It was added before. To change it, or to get a new secret, edit it in the list.');
}

/** Returns the target with a secret, and that secret if it was made here. */
function checkedTarget(
  { kind }: Authenticated,
  target: WebhookTarget,
): { target: WebhookTarget; secret: string | null } {
  // A script that got hold of a token must neither run a command, which is outside of every sandbox, nor reach what listens on this machine only.
  if (kind !== 'page' && (target.form === 'command' || target.allowsThisMachine)) {
    const what = target.form === 'command' ? 'a command' : 'a receiver on this machine';
    throw new Rejection(
      'page_only',
      `Set ${what} in a browser that is logged in, not with a token or from a terminal.`,
    );
  }
  if (target.form === 'command') return { target, secret: null };
  const { hostname } = new URL('url' in target ? target.url : target.server);
  if (!target.allowsThisMachine && hostLocation(hostname) === 'this-machine')
    throw new Rejection('bad_request', `${hostname} cannot be used: ${THIS_MACHINE}.`);
  if (target.form !== 'webhook' || target.secret !== undefined) return { target, secret: null };
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
  return { target: { ...target, secret }, secret };
}

const toWebhook = ({ target, ...record }: WebhookRecord): Webhook =>
  Webhook.parse({ ...record, form: target.form, where: whereOf(target) });

/** Where it goes, without what only its owner should know: the paths of such addresses are secrets, and so are topics. */
function whereOf(target: WebhookTarget): string {
  switch (target.form) {
    case 'command':
      return target.argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');
    case 'telegram':
      return `chat ${target.chatId}`;
    case 'ntfy':
      return new URL(target.server).origin;
    default:
      return new URL(target.url).origin;
  }
}

async function toCall(tables: Pick<Tables, 'announcements' | 'stages'>, row: DeliveryRecord): Promise<WebhookCall> {
  const announcement = await tables.announcements.find(row.announcementKey);
  if (announcement === null) throw new Rejection('unknown_call', 'This call is no longer kept.');
  const { signal, stageId, requestId } = announcement;
  const stage = await tables.stages.find(stageId);
  return WebhookCall.parse({
    ...row,
    callId: String(row.id),
    signal,
    stageId,
    requestId,
    stageTitle: stage?.title ?? null,
    isFollowUp: row.phase === 'settled',
  });
}

/** The words of pushed notifications, which calls use as well. */
export interface CallTexts {
  announced: typeof notificationOf;
  settled: typeof settledNotificationOf;
}

interface EventDeps {
  tables: Pick<Tables, 'stages' | 'projects' | 'requests' | 'sessions'>;
  text: CallTexts;
  /** The origin that people open; null if that is not known. */
  publicUrl: string | null;
}

/** In one line, with everything visible. */
const line = (text: string): string => visibleText(text.replaceAll(/\s+/g, ' ').trim(), 'prose');

/** Returns what is told about an announcement: that it stands, or that nobody is needed for it any more. */
async function eventOf(
  { tables, text, publicUrl }: EventDeps,
  announcement: AnnouncementRecord,
  phase: DeliveryPhase,
): Promise<WebhookEvent> {
  const { key, signal, stageId, requestId, madeAt, settledAt } = announcement;
  const stage = await tables.stages.find(stageId);
  const project = stage === null ? null : await tables.projects.find(stage.projectId);
  const stored = requestId === null ? null : await tables.requests.find(stageId, requestId);
  const isSettled = phase === 'settled' || settledAt !== null;
  const request = stored?.decision === null ? stored.request : null;
  const because = (await tables.sessions.find(stageId))?.lastTurn?.message ?? '';
  const reported = isSettled
    ? text.settled(announcement, { stage, decision: stored?.decision ?? null })
    : text.announced(announcement, { stage, request, settings: DEFAULT_ALERTS, because });
  return {
    id: eventId(`${key} ${phase}`),
    type: isSettled ? 'settled' : signal,
    timestamp: isSettled ? (settledAt ?? madeAt) : madeAt,
    data: {
      signal,
      title: line(reported.title),
      text: reported.body,
      url: publicUrl === null ? null : publicUrl + reported.path,
      project: project && { id: project.id, name: project.name },
      stage: stage && { id: stage.id, title: stage.title },
      request: stored && { id: stored.request.requestId, kind: stored.request.kind, toolName: stored.request.toolName },
    },
  };
}

/** Returns the event of a test. */
export const testEvent = (id: string, timestamp: string, publicUrl: string | null): WebhookEvent => ({
  id: eventId(`test ${id}`),
  type: 'test',
  timestamp,
  data: {
    signal: 'finished',
    title: 'Callboard',
    text: 'Calls from Callboard will arrive here.',
    url: publicUrl,
    project: null,
    stage: null,
    request: null,
  },
});

const eventId = (from: string): string => `msg_${hash('sha256', from, 'base64url').slice(0, 27)}`;

/** The name of the channel of webhooks. Stored with each call. */
const WEBHOOK_CHANNEL = 'webhook';

export interface WebhookChannelDeps {
  store: Store;
  platform: Pick<Platform, 'now'>;
  caller: Caller;
  text: CallTexts;
  publicUrl: string | null;
}

const MINUTE_MS = 60_000;

/** Whether a webhook is told of such announcements. */
async function wants(
  tables: Pick<Tables, 'stages'>,
  { isOn, signals, projectIds }: WebhookRecord,
  { signal, stageId }: AnnouncementRecord,
): Promise<boolean> {
  if (!isOn || !signals.includes(signal)) return false;
  if (projectIds === null) return true;
  const projectId = (await tables.stages.find(stageId))?.projectId;
  return projectId !== undefined && projectIds.includes(projectId);
}

/** Whether a webhook is called again once nobody is needed any more. */
const notifiesSettled = ({ tellsSettled: isWanted, target: { form } }: WebhookRecord): boolean =>
  isWanted && FORMS_WITH_FOLLOW_UP.includes(form);

/**
 * Calls the outside. Each call waits until nobody has answered for as long as its webhook says; what was answered before that is not sent. What
 * a person changed meanwhile counts.
 */
export function createWebhookChannel({ store, platform, caller, text, publicUrl }: WebhookChannelDeps): Channel {
  async function targets(tx: Tx, announcement: AnnouncementRecord): Promise<{ target: string; dueAt: string }[]> {
    const found: { target: string; dueAt: string }[] = [];
    for (const webhook of await tx.webhooks.list()) {
      if (!(await wants(tx, webhook, announcement))) continue;
      const dueMs = Date.parse(tx.now) + webhook.afterMinutes * MINUTE_MS;
      found.push({ target: webhook.webhookId, dueAt: new Date(dueMs).toISOString() });
    }
    return found;
  }

  /** Why it is not to be sent; null if it is. */
  async function dropped({ announcement, phase }: Message, webhook: WebhookRecord): Promise<string | null> {
    if (phase === 'settled') return notifiesSettled(webhook) ? null : 'It will not be called again.';
    if (!webhook.isOn) return 'It was switched off meanwhile.';
    const { stageId, requestId, settledAt } = announcement;
    // A deleted stage is told once, as what it is: settled.
    if (settledAt !== null) return null;
    if (!(await wants(store.read, webhook, announcement))) return 'It no longer receives this.';
    if (requestId === null || (await isOpen(stageId, requestId))) return null;
    return 'It was answered before it was sent.';
  }

  async function isOpen(stageId: StageId, requestId: NonNullable<AnnouncementRecord['requestId']>): Promise<boolean> {
    return (await store.read.requests.find(stageId, requestId))?.decision === null;
  }

  return {
    name: WEBHOOK_CHANNEL,
    targets,
    async tellsSettled(tx, target) {
      const webhook = await tx.webhooks.find(target);
      return webhook?.isOn === true && notifiesSettled(webhook);
    },
    async send(message, signal): Promise<Outcome> {
      const webhook = await store.read.webhooks.find(message.target);
      if (webhook === null) return { kind: 'dropped', error: 'It was removed.' };
      const why = await dropped(message, webhook);
      if (why !== null) return { kind: 'dropped', error: why };
      const { announcement, phase } = message;
      const place = locationOf(webhook.target);
      const receipt = message.receipt?.startsWith(place) ? message.receipt.slice(place.length) : null;
      if (webhook.target.form === 'telegram' && phase === 'settled' && receipt === null)
        return { kind: 'dropped', error: 'It is not known which message of this chat to change.' };
      const event = await eventOf({ tables: store.read, text, publicUrl }, announcement, phase);
      const called = await caller.call(
        webhook.target,
        { webhookId: webhook.webhookId, event, receipt, now: platform.now() },
        signal,
      );
      if (!signal.aborted || called.kind === 'taken')
        await store.transact((tx) => noteCalled(tx, webhook, called), { sync: 'later' });
      return outcomeOf(called, place);
    },
  };
}

/** Begins each receipt of a target: the number of a message means nothing to another bot or in another chat. */
const locationOf = (target: WebhookTarget): string =>
  target.form === 'telegram' ? `${target.server} ${target.token.split(':')[0]} ${target.chatId} ` : '';

function outcomeOf(called: Called, place: string): Outcome {
  if (called.kind === 'taken')
    return { kind: 'sent', ...(called.receipt !== null && { receipt: `${place}${called.receipt}` }) };
  const { error, afterMs, isFinal = false } = called;
  return { kind: 'failed', error, isFinal, ...(afterMs !== undefined && { afterMs }) };
}

/** Stores on the webhook what became of a call to the target that it then had. What it was changed to meanwhile has not been called. */
async function noteCalled(
  tx: Tx,
  { webhookId, target }: Pick<WebhookRecord, 'webhookId' | 'target'>,
  called: Called,
): Promise<void> {
  const webhook = await tx.webhooks.find(webhookId);
  if (webhook === null || !isDeepStrictEqual(webhook.target, target)) return;
  const isGone = called.kind === 'refused' && called.isGone === true;
  const problem =
    called.kind === 'refused' ? { at: tx.now, text: `${called.error}${isGone ? SWITCHED_OFF : ''}` } : null;
  const isOn = webhook.isOn && !isGone;
  await tx.webhooks.save({ ...webhook, isOn, problem, sentAt: problem === null ? tx.now : webhook.sentAt });
}

const SWITCHED_OFF =
  ' The address is gone for good, so this was switched off. Enter the new address, or switch it on again.';

export interface WebhookDeps {
  webhooks: Webhooks;
}

type WebhookCommands = Extract<keyof CommandHandlers, `${string}_webhook${string}`>;

export const webhookCommands = ({ webhooks }: WebhookDeps): Pick<CommandHandlers, WebhookCommands> => ({
  get_webhooks: async () => ({ webhooks: await webhooks.list() }),
  add_webhook: (webhook, { login }) => webhooks.add(requireLogin(login), webhook),
  change_webhook: (change, { login }) => webhooks.change(requireLogin(login), change),
  remove_webhook: async ({ webhookId }) => ({ webhook: await webhooks.remove(webhookId) }),
  test_webhook: async ({ webhookId }) => ({ webhook: await webhooks.test(webhookId) }),
  get_webhook_calls: async ({ webhookId }) => ({ calls: await webhooks.calls(webhookId) }),
  repeat_webhook_call: async (call) => ({ call: await webhooks.repeat(call) }),
});
