import { byWhom, OUTCOME_VERBS, PushMessage } from '@callboard/contract';
import type { TransportError } from '@callboard/contract/client';

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
  const images = { icon: '/icon-192.png', badge: '/badge-96.png' };
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
