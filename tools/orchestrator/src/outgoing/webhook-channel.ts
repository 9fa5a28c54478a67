import { isDeepStrictEqual } from 'node:util';
import { FORMS_WITH_FOLLOW_UP, type StageId, type WebhookTarget } from '@callboard/contract';
import type { Channel, Message, Outcome } from '../announcements/channel.ts';
import type { Platform } from '../lib/edges.ts';
import type { AnnouncementRecord, WebhookRecord } from '../store/announcement-records.ts';
import type { Store, Tables, Tx } from '../store/store.ts';
import type { Called, Caller } from './caller.ts';
import { type CallTexts, eventOf } from './event-of.ts';

/** The name of the channel of webhooks. Stored with each call. */
export const WEBHOOK_CHANNEL = 'webhook';

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
export async function noteCalled(
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
