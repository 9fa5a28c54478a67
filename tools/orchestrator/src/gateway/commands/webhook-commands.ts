import type { Webhooks } from '../../outgoing/webhooks.ts';
import { type CommandHandlers, requireLogin } from './command-handler.ts';

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
