import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { NewWebhook, Webhook, WebhookCall, WebhookPatch } from './webhooks.ts';

const webhook = z.object({ webhook: Webhook });

const ofWebhook = { webhookId: z.string().min(1).max(100) };
/** With the secret that Callboard has made, which is not shown again; null if it has made none. */
const withSecret = z.object({ webhook: Webhook, secret: z.string().nullable() });

/** The commands about calls to the outside. They are the same for everybody on the board. */
export const webhookCommands = {
  get_webhooks: {
    route: 'GET /api/webhooks',
    runs: 'store',
    time: 'read',
    input: z.object({}),
    reply: z.object({ webhooks: z.array(Webhook) }),
  },
  /**
   * Only a page may add or replace a `command`, or a target with `allowsThisMachine` (`page_only`). Whoever sends `webhookId` can send the same
   * again if the reply was lost: nothing is added twice, and the reply is the same, for ten minutes.
   */
  add_webhook: {
    route: 'POST /api/webhooks',
    runs: 'store',
    input: NewWebhook.extend({ webhookId: z.uuid().optional() }),
    reply: withSecret,
    status: 201,
  },
  change_webhook: {
    route: 'PATCH /api/webhooks/:webhookId',
    body: 'patch',
    runs: 'store',
    input: z.object({ ...ofWebhook, patch: WebhookPatch }),
    reply: withSecret,
  },
  /** Anything not sent yet will not be sent. */
  remove_webhook: {
    route: 'DELETE /api/webhooks/:webhookId',
    runs: 'store',
    input: z.object(ofWebhook),
    reply: webhook,
  },
  /** Calls it with a test. Replies when it was taken; `webhook_failed` says why it was not. */
  test_webhook: {
    route: 'POST /api/webhooks/:webhookId/test',
    runs: 'store',
    time: 'slow',
    input: z.object(ofWebhook),
    reply: webhook,
  },
  /** Lists its newest calls, newest first. */
  get_webhook_calls: {
    route: 'GET /api/webhooks/:webhookId/calls',
    runs: 'store',
    time: 'read',
    input: z.object(ofWebhook),
    reply: z.object({ calls: z.array(WebhookCall) }),
  },
  /** Makes a call once more, with the same id, or now instead of later. */
  repeat_webhook_call: {
    route: 'POST /api/webhooks/:webhookId/calls/:callId/repeat',
    runs: 'store',
    input: z.object({ ...ofWebhook, callId: z.string().regex(/^\d{1,15}$/) }),
    reply: z.object({ call: WebhookCall }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const webhookDocs = (): DocsOf<typeof webhookCommands> => {
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

  return {
    get_webhooks: {
      tag: 'webhooks',
      summary: 'List the calls to the outside',
      description: 'Without their secrets: `where` names the server, the chat or the command.',
      example: { input: {}, reply: { webhooks: [webhook] } },
    },
    add_webhook: {
      tag: 'webhooks',
      summary: 'Call a webhook, a command or a service when somebody is needed',
      description:
        'For a `webhook` without `secret`, Callboard makes one; the reply has it, and no other. A command, and a receiver on the machine of Callboard (`allowsThisMachine`), need a page of a logged-in browser. With a `webhookId` of yours, the same request again adds nothing and has the same reply for ten minutes, if the first was lost. `docs/outgoing.md` has the forms and how to verify a signature.',
      problems: ['page_only', 'unknown_project'],
      example: { input: added, reply: { webhook, secret: 'whsec_bm90IGEgc2VjcmV0LCBqdXN0IGFuIGV4YW1wbGUuLi4=' } },
    },
    change_webhook: {
      tag: 'webhooks',
      summary: 'Change a call to the outside',
      description: 'What is left out stays; `target` is replaced as a whole, with its secrets.',
      problems: ['page_only', 'unknown_project', 'unknown_webhook'],
      example: { input: { ...onWebhook, patch: { isOn: false } }, reply: { webhook, secret: null } },
    },
    remove_webhook: {
      tag: 'webhooks',
      summary: 'Remove a call to the outside',
      problems: ['unknown_webhook'],
      example: { input: onWebhook, reply: { webhook } },
    },
    test_webhook: {
      tag: 'webhooks',
      summary: 'Call it with a test',
      description: 'Replies when the receiver has taken it.',
      problems: ['unknown_webhook', 'webhook_failed'],
      example: { input: onWebhook, reply: { webhook } },
    },
    get_webhook_calls: {
      tag: 'webhooks',
      summary: 'List its newest calls with what became of them',
      problems: ['unknown_webhook'],
      example: { input: onWebhook, reply: { calls: [call] } },
    },
    repeat_webhook_call: {
      tag: 'webhooks',
      summary: 'Make a call again',
      description:
        'With the same id, so that a receiver can tell that it had it before. A call that is due later is made now.',
      problems: ['unknown_webhook', 'unknown_call'],
      example: { input: { ...onWebhook, callId: call.callId }, reply: { call } },
    },
  };
};
