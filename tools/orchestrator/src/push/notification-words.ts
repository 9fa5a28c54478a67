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
  visibleText,
} from '@callboard/contract';
import { requestKinds } from '../kinds/registry.ts';
import type { AnnouncementRecord } from '../store/announcement-records.ts';

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
