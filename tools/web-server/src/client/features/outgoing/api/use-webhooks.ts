import { type CommandInput, NewWebhook, type Webhook } from '@callboard/contract';
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../../lib/api-client.ts';

const KEY = ['webhooks'];
/** Calls are made at any time, and no event tells of them. */
const CHECK_INTERVAL_MS = 5_000;

/** The calls to the outside. */
export const webhooksQuery = queryOptions({
  queryKey: KEY,
  queryFn: async ({ signal }) => (await client.command('get_webhooks', {}, { signal })).webhooks,
  refetchInterval: CHECK_INTERVAL_MS,
});

/** The newest calls of one, and what became of them. */
export const callsQuery = (webhookId: string) =>
  queryOptions({
    queryKey: [...KEY, webhookId, 'calls'],
    queryFn: async ({ signal }) => (await client.command('get_webhook_calls', { webhookId }, { signal })).calls,
    refetchInterval: CHECK_INTERVAL_MS,
  });

/** Sends a command about calls to the outside; afterwards their list is read anew. */
function useWebhookCommand<Input, Reply>(run: (input: Input) => Promise<Reply>) {
  const cache = useQueryClient();
  return useMutation({ mutationFn: run, onSettled: () => cache.invalidateQueries({ queryKey: KEY }) });
}

/** Adds one, or changes the one with this id. Adding it again from the same form adds no second one: the reply may have been lost. */
export function useSaveWebhook(webhookId: string | null) {
  const [newId] = useState(() => crypto.randomUUID());
  return useWebhookCommand((given: NewWebhook | CommandInput<'change_webhook'>['patch']) =>
    webhookId === null
      ? client.command('add_webhook', { ...NewWebhook.parse(given), webhookId: newId }) // the form of a new one is whole
      : client.command('change_webhook', { webhookId, patch: given }),
  );
}

export const useSwitchWebhook = ({ webhookId }: Webhook) =>
  useWebhookCommand((isOn: boolean) => client.command('change_webhook', { webhookId, patch: { isOn } }));

export const useRemoveWebhook = ({ webhookId }: Webhook) =>
  useWebhookCommand(() => client.command('remove_webhook', { webhookId }));

export const useTestWebhook = ({ webhookId }: Webhook) =>
  useWebhookCommand(() => client.command('test_webhook', { webhookId }));

export const useRepeatCall = (webhookId: string) =>
  useWebhookCommand((callId: string) => client.command('repeat_webhook_call', { webhookId, callId }));
