import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  type CommandInput,
  type CommandReply,
  hostLocation,
  Webhook,
  WebhookCall,
  type WebhookTarget,
} from '@callboard/contract';
import type { Authenticated } from '../auth/logins.ts';
import type { Platform } from '../lib/edges.ts';
import { Rejection } from '../lib/errors.ts';
import type { DeliveryRecord, WebhookRecord } from '../store/announcement-records.ts';
import type { Store, Tables } from '../store/store.ts';
import type { Caller } from './caller.ts';
import { testEvent } from './event-of.ts';
import { THIS_MACHINE } from './receiver-addresses.ts';
import { noteCalled, WEBHOOK_CHANNEL } from './webhook-channel.ts';

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
