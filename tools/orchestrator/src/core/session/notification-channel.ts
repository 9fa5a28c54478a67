import {
  type AlertSettings,
  announcementPath,
  byWhom,
  type Decision,
  finishedText,
  OUTCOME_VERBS,
  type PendingRequest,
  type PushActions,
  type PushMessage,
  type Signal,
  type Stage,
  type StageId,
  type Viewing,
  visibleText,
} from '@callboard/contract';
import type { Platform } from '../../platform/runtime.ts';
import type { AnnouncementRecord, DeliveryPhase } from '../../store/ports/event-port.ts';
import type { Tx } from '../../store/store.ts';
import { requestKinds } from '../kinds/registry.ts';

/**
 * Which stages people look at, in whatever tab of whatever device. Kept in memory: pages say it again every half minute, so that a restart
 * or a lost page costs no more than one needless notification.
 */
export interface Presence {
  /** What a person looks at in one tab, for the next minute; null: nothing any more. */
  notify(person: string, tabId: string, at: Viewing | null): void;
  isLooking(person: string, stageId: StageId): boolean;
}

const VALID_MS = 60_000;
/** More tabs of one person than anybody uses. */
const MAX_TABS = 200;

interface Tab {
  at: Viewing;
  untilMs: number;
}

export function createPresence({ uptimeMs }: Pick<Platform, 'uptimeMs'>): Presence {
  const people = new Map<string, Map<string, Tab>>();

  function tabsOf(person: string): Map<string, Tab> {
    const tabs = people.get(person) ?? new Map<string, Tab>();
    for (const [tabId, { untilMs }] of tabs) if (untilMs <= uptimeMs()) tabs.delete(tabId);
    return tabs;
  }

  return {
    notify(person, tabId, at) {
      const tabs = tabsOf(person);
      tabs.delete(tabId);
      if (at !== null) tabs.set(tabId, { at, untilMs: uptimeMs() + VALID_MS });
      for (const oldest of [...tabs.keys()].slice(0, Math.max(0, tabs.size - MAX_TABS))) tabs.delete(oldest);
      people.set(person, tabs);
    },
    isLooking: (person, stageId) =>
      [...tabsOf(person).values()].some(({ at }) => at === 'everything' || at === stageId),
  };
}

/** One message to one target of a channel. */
export interface Message {
  announcement: AnnouncementRecord;
  phase: DeliveryPhase;
  target: string;
  /** If it is `settled`: what came back when the target was told before; null if nothing did. */
  receipt: string | null;
}

/**
 * What became of an attempt. `postponed`: it is not the time yet; that is no failure. `dropped`: nothing was sent, nor will be. `failed`: it is
 * tried again, after `afterMs` at the earliest, unless it `isFinal`. `receipt`: kept for the message that it is settled.
 */
export type Outcome =
  | { kind: 'sent'; receipt?: string }
  | { kind: 'postponed'; until: Date }
  | { kind: 'failed'; error: string; afterMs?: number; isFinal?: boolean }
  | { kind: 'dropped'; error: string };

/**
 * A way to tell people of announcements outside of the page. Every announcement becomes one row for each target, stored before anything is
 * sent. Rows survive restarts; a row whose sending was interrupted is sent again, so a receiver must tolerate a repetition.
 */
export interface Channel {
  /** Stored with each row: never change it. */
  readonly name: string;
  /** Whether a target that was told hears of it as well when nobody is needed any more. */
  tellsSettled(tx: Tx, target: string): Promise<boolean>;
  /** Who is to be told, and when: each target once. Runs in the transaction that stores the announcement. */
  targets(tx: Tx, announcement: AnnouncementRecord): Promise<{ target: string; dueAt: string }[]>;
  /** Sends one message. Ends, with an outcome, soon after `signal` aborts. */
  send(message: Message, signal: AbortSignal): Promise<Outcome>;
}

/** As much as every platform shows of a notification's text without cutting it. */
const MAX_ALLOWED_LENGTH = 60;
const MAX_TITLE_LENGTH = 80;
const MAX_BODY_LENGTH = 160;

const cut = (text: string, longest: number): string =>
  text.length > longest ? `${text.slice(0, longest - 1)}…` : text;

/** The fields that can be left out of a notification: Claude's own description changes nothing. */
const WORDS_ONLY = new Set(['description']);

/** Returns the whole input of a request in one line; null if a notification cannot show all of it as it is. */
export function wholeInput({ kind, toolName, input, leavesSandbox }: PendingRequest): string | null {
  if (kind !== 'approval' || toolName !== 'Bash' || leavesSandbox !== null) return null;
  const { command } = input;
  const others = Object.keys(input).filter((name) => name !== 'command' && !WORDS_ONLY.has(name));
  if (typeof command !== 'string' || others.length > 0) return null;
  const isPlain = visibleText(command, 'command') === command && !/[\n\t]/.test(command) && command.trim() === command;
  return isPlain && command !== '' && command.length <= MAX_ALLOWED_LENGTH ? command : null;
}

const ABOUT: Readonly<Record<Exclude<Signal, 'finished'>, string>> = { waiting: 'needs you', failed: 'failed' };

function aboutOf(signal: Signal, stage: Stage | null): string {
  if (signal !== 'finished') return ABOUT[signal];
  return stage === null ? 'finished' : finishedText(stage);
}

interface Reported {
  stage: Stage | null;
  /** Null if it is about no request, or the request is not open any more. */
  request: PendingRequest | null;
  settings: AlertSettings;
  /** Why the stage is where it is, in the CLI's words; empty if nothing is known. */
  because: string;
}

/** Returns what is pushed about an announcement that stands. */
export function notificationOf(announcement: AnnouncementRecord, reported: Reported): PushMessage {
  const { stage, request, settings, because } = reported;
  const { key, signal, stageId, requestId } = announcement;
  const name = cut(stage?.title ?? stageId, MAX_TITLE_LENGTH);
  const worktree = stage?.worktree?.path ?? null;
  const whole = request === null ? null : wholeInput(request);
  const asked = request === null ? '' : requestKinds[request.kind].describe(request, worktree);
  const body = whole ?? visibleText(cut(asked === '' ? because : asked, MAX_BODY_LENGTH), 'prose');
  return {
    tag: key,
    signal,
    path: announcementPath(announcement),
    isSettled: false,
    title: `${name}: ${whole === null ? aboutOf(signal, stage) : 'run this command?'}`,
    body,
    request: requestId === null ? null : { stageId, requestId },
    actions: request === null ? 'none' : actionsOf(request, whole !== null && settings.allowFromNotification),
  };
}

/** Deny needs no whole input: Claude can ask again. A question, a plan and a form are answered in Callboard. */
function actionsOf({ kind }: PendingRequest, mayAllow: boolean): PushActions {
  if (kind !== 'approval' && kind !== 'network') return 'none';
  return mayAllow ? 'allow-or-deny' : 'deny';
}

function fateOf(stage: Stage | null): string {
  if (stage === null) return 'deleted';
  return stage.completedAt === null ? 'goes on' : 'done';
}

interface Settled {
  stage: Stage | null;
  /** How its request ended; null if it is about none. */
  decision: Decision | null;
}

/** Returns what replaces a notification when nobody is needed any more: how its request ended, by whom and from where. */
export function settledNotificationOf(announcement: AnnouncementRecord, settled: Settled): PushMessage {
  const { stage, decision } = settled;
  const { key, signal, stageId, requestId } = announcement;
  const answered = decision === null ? 'answered' : `${OUTCOME_VERBS[decision.outcome]} ${byWhom(decision)}`.trim();
  return {
    tag: key,
    signal,
    request: null,
    actions: 'none',
    isSettled: true,
    body: '',
    title: `${cut(stage?.title ?? stageId, MAX_TITLE_LENGTH)}: ${requestId === null ? fateOf(stage) : visibleText(answered, 'prose')}`,
    path: announcementPath({ stageId, requestId: null }),
  };
}
