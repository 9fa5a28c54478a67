import type { Relays } from './relay.ts';

/** Calls to the outside when somebody is needed. */
export const webhookRelays = {
  get_webhooks: {
    summary: 'List the calls to the outside',
    description: 'Without their secrets: `where` names the server, the chat or the command.',
  },
  add_webhook: {
    summary: 'Call a webhook, a command or a service when somebody is needed',
    description:
      'For a `webhook` without `secret`, Callboard makes one; the reply has it, and no other. A command, and a receiver on the machine of Callboard (`allowsThisMachine`), need a page of a logged-in browser. With a `webhookId` of yours, the same request again adds nothing and has the same reply for ten minutes, if the first was lost. `docs/outgoing.md` has the forms and how to verify a signature.',
    problems: ['page_only', 'unknown_project'],
    status: 201,
  },
  change_webhook: {
    summary: 'Change a call to the outside',
    description: 'What is left out stays; `target` is replaced as a whole, with its secrets.',
    problems: ['page_only', 'unknown_project', 'unknown_webhook'],
  },
  remove_webhook: {
    summary: 'Remove a call to the outside',
    problems: ['unknown_webhook'],
  },
  test_webhook: {
    summary: 'Call it with a test',
    description: 'Replies when the receiver has taken it.',
    problems: ['unknown_webhook', 'webhook_failed'],
  },
  get_webhook_calls: {
    summary: 'List its newest calls with what became of them',
    problems: ['unknown_webhook'],
  },
  repeat_webhook_call: {
    summary: 'Make a call again',
    description:
      'With the same id, so that a receiver can tell that it had it before. A call that is due later is made now.',
    problems: ['unknown_webhook', 'unknown_call'],
  },
} satisfies Relays;
