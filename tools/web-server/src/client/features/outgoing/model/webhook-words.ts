import { FORMS_WITH_FOLLOW_UP, Signal, type Webhook, type WebhookCall, type WebhookForm } from '@callboard/contract';
import { comingTime } from '../../../lib/limit-words.ts';
import { signalTitles } from '../../../lib/signal-words.ts';

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
