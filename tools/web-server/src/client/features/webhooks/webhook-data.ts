import {
  type CommandInput,
  FORMS_WITH_FOLLOW_UP,
  NewWebhook,
  Signal,
  type Webhook,
  type WebhookCall,
  type WebhookForm,
} from '@callboard/contract';
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../lib/api-client.ts';
import { comingTime } from '../../lib/limit-text.ts';

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

/** What each form is called. */
export const formNames: Readonly<Record<WebhookForm, string>> = {
  webhook: 'Webhook',
  command: 'Command',
  ntfy: 'ntfy',
  slack: 'Slack',
  discord: 'Discord',
  telegram: 'Telegram',
};

/** When it is called: "At once", "After 10 min without an answer". */
export const formatDelay = (minutes: number): string =>
  minutes === 0 ? 'At once' : `After ${formatMinutes(minutes)} without an answer`;

const formatMinutes = (minutes: number): string => (minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`);

/** The choices of a webhook in one line. */
export function choiceText({ signals, afterMinutes, projectIds }: Webhook, nameOf: (id: string) => string): string {
  const every = Signal.options.every((signal) => signals.includes(signal));
  const what = every ? 'All signals' : signals.map((signal) => signalTitles[signal]).join(', ');
  const where = projectIds === null ? 'all projects' : projectIds.map((id) => nameOf(id)).join(', ');
  return `${what} · ${where} · ${formatDelay(afterMinutes).toLowerCase()}`;
}

/** Whether a form can tell later that nobody is needed any more. */
export const hasFollowUp = (form: WebhookForm): boolean => FORMS_WITH_FOLLOW_UP.includes(form);

/** What became of a call, without what went wrong: that is in its `error`. Null if it was sent: its time says that. */
export function deliveryStatusText({ state, attempts, dueAt, error }: WebhookCall, now: Date): string | null {
  if (state === 'sent') return null;
  if (state === 'dropped' && attempts === 0)
    return error === null ? 'Not sent: nobody was needed any more' : 'Not sent';
  // A receiver whose answer did not come, or was not stored, may have taken it.
  if (state === 'dropped') return `Tried ${formatTimes(attempts)}${error === null ? '; may have arrived' : ''}`;
  if (Date.parse(dueAt) <= now.getTime()) return 'Sending';
  if (attempts === 0) return `Due at ${comingTime(dueAt, now)}, unless it is answered`;
  return `Failed ${formatTimes(attempts)}, again at ${comingTime(dueAt, now)}`;
}

const formatTimes = (attempts: number): string => (attempts === 1 ? 'once' : `${attempts} times`);

/** What each signal is called. */
export const signalTitles: Readonly<Record<Signal, string>> = {
  waiting: 'Waiting for you',
  failed: 'Failed',
  finished: 'Finished',
};
