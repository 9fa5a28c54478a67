import { byWhom, OUTCOME_VERBS, PushMessage, PushSubscriptionBody } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { client, isTransient, unanswered } from '../lib/api-client.ts';
import { withBase } from '../lib/base-path.ts';
import { untilDelivered } from '../lib/until-delivered.ts';

type Verdict = 'allow' | 'deny';
const OUTCOMES = { allow: 'allowed', deny: 'denied' } as const;

/**
 * Answers the request of a notification with the login of this browser.
 * @returns what the notification says from now on, and whether Callboard took the answer. Never rejects.
 */
export async function answerRequest(
  message: PushMessage & { request: NonNullable<PushMessage['request']> },
  decision: Verdict,
): Promise<{ message: PushMessage; isTaken: boolean }> {
  const { stageId, requestId } = message.request;
  try {
    await untilDelivered(async (attempt, signal) => {
      try {
        await client.command('approve_tool', { stageId, requestId, decision }, { signal });
      } catch (error) {
        // An earlier attempt has arrived after all.
        const isOurs = error instanceof TransportError && error.decision?.outcome === OUTCOMES[decision];
        if (attempt === 1 || !isOurs) throw error;
      }
    });
    return { message: answeredMessage(message, OUTCOMES[decision]), isTaken: true };
  } catch (cause) {
    const error = cause instanceof TransportError ? cause : unanswered();
    return { message: refusedMessage(message, decision, error), isTaken: false };
  }
}

/** A button of a notification, by what it does. */
export type NotificationAction = 'open' | 'allow' | 'deny';

/** What `showNotification` takes; the types of the platform leave out what not every browser has. */
export interface ShownNotification {
  title: string;
  options: NotificationOptions & {
    actions: { action: NotificationAction; title: string }[];
    renotify: false;
    /** Read again when the notification is clicked. */
    data: PushMessage;
  };
}

const OPEN = { action: 'open', title: 'Open' } as const;
const DENY = { action: 'deny', title: 'Deny' } as const;
const ALLOW = { action: 'allow', title: 'Allow' } as const;

/** Allow takes the place of Open: a click on the notification itself opens it as well. Most platforms show two buttons. */
const BUTTONS = { none: [OPEN], deny: [OPEN, DENY], 'allow-or-deny': [ALLOW, DENY] } as const;

/** Returns the notification for a message. What needs nobody any more replaces the one before without a sound. */
export function shownNotification(message: PushMessage): ShownNotification {
  const { title, body, tag, isSettled, actions } = message;
  const images = { icon: withBase('/icon-192.png'), badge: withBase('/badge-96.png') };
  const buttons = isSettled ? [] : [...BUTTONS[actions]];
  return {
    title,
    // A message that is repeated, or that an open page has shown already, makes no second sound.
    options: { body, tag, ...images, silent: isSettled, renotify: false, actions: buttons, data: message },
  };
}

/** Stands for a message that this worker cannot read: a browser wants to see a notification for each. */
const UNREADABLE: PushMessage = {
  tag: 'unreadable',
  title: 'Callboard',
  body: 'Something has happened. Open the board to see it.',
  signal: 'waiting',
  path: '/',
  request: null,
  actions: 'none',
  isSettled: false,
};

/** Returns what was pushed. A message of another version still says that something has happened. */
export function readPushed(text: string | undefined): PushMessage {
  try {
    return PushMessage.parse(JSON.parse(text ?? ''));
  } catch {
    return UNREADABLE;
  }
}

/** Returns what may be sent for a click: only what the buttons of that notification offered. */
export function verdictOf(action: string, { actions, request }: PushMessage): 'allow' | 'deny' | null {
  if (request === null) return null;
  if (action === 'deny' && actions !== 'none') return 'deny';
  return action === 'allow' && actions === 'allow-or-deny' ? 'allow' : null;
}

/** The name of the stage, which the title begins with. */
const stageOf = ({ title }: PushMessage): string => title.slice(0, title.lastIndexOf(': '));

/** Returns what replaces a notification once Callboard has taken the answer. */
export const answeredMessage = (message: PushMessage, outcome: 'allowed' | 'denied'): PushMessage => ({
  ...message,
  title: `${stageOf(message)}: ${outcome}`,
  actions: 'none',
  request: null,
  isSettled: true,
});

/** Returns what says that an answer was not used: because another came first, and whose, or because it did not arrive. */
export function refusedMessage(message: PushMessage, verdict: 'allow' | 'deny', error: TransportError): PushMessage {
  const none = { actions: 'none', request: null } as const;
  const { decision } = error;
  if (decision !== null) {
    const title = `${stageOf(message)}: already ${OUTCOME_VERBS[decision.outcome]} ${byWhom(decision)}`.trim();
    return { ...message, ...none, title, body: 'Your answer was not used.', isSettled: true };
  }
  const title = `${stageOf(message)}: not ${verdict === 'allow' ? 'allowed' : 'denied'}`;
  return { ...message, ...none, title, body: `${error.message} Open Callboard to answer.` };
}

/** How long the page waits before it tries again. */
const RETRY_SECONDS = 5;

/** It loads nothing, so that it needs no cache, and it shows nothing of the board: what it knew may be outdated. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover" />
    <meta name="color-scheme" content="light dark" />
    <meta http-equiv="refresh" content="${RETRY_SECONDS}" />
    <title>Callboard cannot be reached</title>
    <style>
      html { background: #f5f5f6; color: #17191c; }
      body { font: 16px/1.5 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto 0; padding: 0 1rem; }
      h1 { font-size: 1.5rem; line-height: 1.3; }
      a { display: inline-block; padding: 10px 16px; border-radius: 8px; background: #2a2e34; color: #ffffff; text-decoration: none; }
      @media (prefers-color-scheme: dark) {
        html { background: #0f1012; color: #e9eaec; }
        a { background: #e9eaec; color: #17191c; }
      }
    </style>
  </head>
  <body>
    <main>
      <h1>Callboard cannot be reached</h1>
      <p>This device is offline, or Callboard is not running. Sessions go on without this page as long as Callboard runs, and requests wait for you.</p>
      <p>This page tries again every ${RETRY_SECONDS} seconds. Nothing of the board is shown here, since it may have changed.</p>
      <p><a href="">Try again now</a></p>
    </main>
  </body>
</html>
`;

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
};

/** Returns the page that stands for every page while the server cannot be reached. */
const offlinePage = (): Response => new Response(PAGE, { status: 503, headers: HEADERS });

/** What a proxy answers when it does not reach Callboard, which itself never answers a page so. */
const AWAY: readonly number[] = [502, 503, 504];

/** Returns the server's page; the one that says so if the server, or its proxy, gives none. */
export async function pageOrOffline(load: () => Promise<Response>): Promise<Response> {
  const response = await load().catch(() => null);
  return response === null || AWAY.includes(response.status) ? offlinePage() : response;
}

/** Shown instead of the notifications that this browser no longer gets. */
const ended = (body: string): PushMessage => ({
  tag: 'push-ended',
  title: 'Callboard: no more notifications here',
  path: '/notifications',
  signal: 'waiting',
  body,
  request: null,
  actions: 'none',
  isSettled: false,
});

const TURN_ON = 'Open Callboard to turn them on again.';

/**
 * Subscribes again after the browser has ended a subscription, and has Callboard send to the new one. If that fails, or notifications are off
 * for this login, this browser is left unsubscribed, so the page shows that they are off.
 * @param made the new subscription, if the browser has made one itself
 * @returns what to show; null if notifications go on. Never rejects.
 */
export async function renewSubscription(
  made: PushSubscription | null | undefined,
  pushManager: Pick<PushManager, 'subscribe'>,
): Promise<PushMessage | null> {
  let renewed = made;
  try {
    const { publicKey, current } = await untilDelivered((_, signal) =>
      client.command('get_push_devices', {}, { signal }),
    );
    // The old subscription may be of somebody who has logged out here: whoever is logged in now has not asked for notifications.
    if (current === null) {
      await renewed?.unsubscribe().catch(() => false);
      return ended('They are off for the login of this browser. Turn them on in Callboard if you want them.');
    }
    renewed ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
    const body = PushSubscriptionBody.parse(renewed.toJSON());
    await untilDelivered((_, signal) => client.command('add_push_device', body, { signal }));
    return null;
  } catch (error) {
    await renewed?.unsubscribe().catch(() => false);
    return ended(reasonOf(error));
  }
}

/** Why this browser has no new subscription, in words. */
function reasonOf(error: unknown): string {
  if (!(error instanceof TransportError)) return `The browser has ended them. ${TURN_ON}`;
  if (isTransient(error) || error.code === 'network')
    return `The browser wanted to renew them, and Callboard did not answer. ${TURN_ON}`;
  return `The browser wanted to renew them, and Callboard refused: ${error.message} ${TURN_ON}`;
}
