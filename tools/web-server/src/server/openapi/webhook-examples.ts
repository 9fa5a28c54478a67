import { NewWebhook, Webhook, WebhookCall } from '@callboard/contract';
import * as the from './example-values.ts';

const webhook = Webhook.parse({
  webhookId: '0198f2d4-7c1e-7000-8000-00000000000c',
  name: 'On call',
  form: 'webhook',
  where: 'https://hooks.example.com',
  signals: ['waiting', 'failed'],
  projectIds: [the.project.id],
  afterMinutes: 10,
  tellsSettled: true,
  isOn: true,
  createdAt: the.decision.at,
  createdBy: 'Ada',
  sentAt: the.decision.at,
  problem: null,
});
const added = NewWebhook.parse({
  name: webhook.name,
  target: { form: 'webhook', url: 'https://hooks.example.com/callboard' },
  signals: webhook.signals,
  projectIds: webhook.projectIds,
  afterMinutes: webhook.afterMinutes,
});
const call = WebhookCall.parse({
  callId: '41',
  signal: 'waiting',
  stageId: the.stage.id,
  stageTitle: the.stage.title,
  requestId: the.pending.requestId,
  isFollowUp: false,
  state: 'sent',
  attempts: 1,
  dueAt: the.decision.at,
  triedAt: the.decision.at,
  error: null,
});
const onWebhook = { webhookId: webhook.webhookId };

/** Example calls of the commands about calls to the outside. */
export const webhookExamples = {
  get_webhooks: { input: {}, reply: { webhooks: [webhook] } },
  add_webhook: { input: added, reply: { webhook, secret: 'whsec_bm90IGEgc2VjcmV0LCBqdXN0IGFuIGV4YW1wbGUuLi4=' } },
  change_webhook: { input: { ...onWebhook, patch: { isOn: false } }, reply: { webhook, secret: null } },
  remove_webhook: { input: onWebhook, reply: { webhook } },
  test_webhook: { input: onWebhook, reply: { webhook } },
  get_webhook_calls: { input: onWebhook, reply: { calls: [call] } },
  repeat_webhook_call: { input: { ...onWebhook, callId: call.callId }, reply: { call } },
};
