import { isActive, type MessageMode, type SessionState } from '@callboard/contract';
import { isComposing } from '../../ui/shortcuts.tsx';

const KEYS = 'Enter sends, Shift Enter makes a new line, / lists commands, @ files.';
const STRONG_KEYS = 'Ctrl Enter steers this turn, Ctrl Shift Enter interrupts, releases and sends now.';
const WORKING_KEYS = 'Enter queues, Ctrl Enter steers this turn, Ctrl Shift Enter interrupts and sends now.';

const CHECKING =
  'A check is running. Enter queues until its result; Ctrl Enter stops it and sends now, and it runs again after that turn.';

interface Given {
  isDone?: boolean;
  /** A check of the finished phase is due or runs, instead of a turn. */
  isChecking?: boolean;
  /** The session is under alarm. */
  isAlarmed?: boolean;
  /** The conversation was left to a terminal. */
  isInTerminal?: boolean;
  /** The stage is on hold. */
  isPaused?: boolean;
}

/** What happens to a message sent now, and by which keys. */
export function composerText(state: SessionState | null, given: Given = {}): string {
  const { isDone = false, isAlarmed = false, isChecking = false, isInTerminal = false, isPaused = false } = given;
  if (isAlarmed) return `The session has an open security alarm; messages are queued until you acknowledge it. ${KEYS}`;
  if (isInTerminal)
    return `The conversation is in a terminal; a message takes it back once Claude Code has ended there. ${KEYS}`;
  if (isDone && state !== null) return `This stage is done; a message reopens it. ${KEYS}`;
  if (isPaused && state !== null)
    return isActive(state)
      ? `The stage is on hold: a queued message waits for its release. ${STRONG_KEYS}`
      : `The stage is on hold; a message waits until you release it. ${KEYS}`;
  if (isChecking) return CHECKING;
  switch (state) {
    case null:
      return 'Start the stage to write to Claude.';
    case 'starting':
    case 'busy':
      return WORKING_KEYS;
    case 'waiting':
      return WORKING_KEYS;
    case 'idle':
      return KEYS;
    case 'ended':
    case 'failed':
      return `The session has ended; a message resumes it. ${KEYS}`;
    default:
      return state satisfies never;
  }
}

interface QueuePausedFacts {
  isAlarmed: boolean;
  sinceAlarm: boolean;
  /** It stopped at a usage limit, and goes on by itself. */
  resumes?: boolean;
}

/** Why messages are held, and the action that releases them; null if only the end of the alarm does. */
export function delayedText({ isAlarmed, sinceAlarm, resumes }: QueuePausedFacts): {
  why: string;
  action: string | null;
} {
  if (isAlarmed) return { why: 'Paused until you acknowledge the alarm.', action: null };
  if (sinceAlarm) return { why: 'Paused since the alarm.', action: 'Send queued' };
  if (resumes) return { why: 'Sent once Claude has gone on after the usage limit.', action: 'Send queued' };
  return {
    why: 'Paused because the last turn failed or was interrupted.',
    action: 'Send queued',
  };
}

type Key = Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'isComposing' | 'keyCode'>;

/** How a key sends the message; null if it does not. */
export function modeOfKey(event: Key, isWorking: boolean): MessageMode | null {
  if (event.key !== 'Enter' || isComposing(event)) return null;
  const isStrong = event.ctrlKey || event.metaKey;
  if (event.shiftKey && !isStrong) return null;
  if (!isStrong || !isWorking) return 'append';
  return event.shiftKey ? 'now' : 'steer';
}

interface SendMode {
  mode: MessageMode;
  label: string;
  does: string;
  keys: string;
}

/** The ways to send while Claude works, in menu order. */
const WORKING_MODES: readonly SendMode[] = [
  { mode: 'append', label: 'Queue', does: 'Sent when this turn ends', keys: 'Enter' },
  { mode: 'steer', label: 'Steer', does: 'Goes into the running turn', keys: 'Ctrl Enter' },
  { mode: 'now', label: 'Send now', does: 'Interrupts Claude and goes at once', keys: 'Ctrl Shift Enter' },
  {
    mode: 'replace',
    label: 'Replace all queued',
    does: 'Replaces everything queued; the old messages are kept',
    keys: '',
  },
];

const CHECKING_MODES: Partial<Record<MessageMode, string>> = {
  append: 'Goes after the result of the check',
  now: 'Stops the check, which runs again after that turn',
};

/** The ways to send while the session is at work, in menu order. There is no turn to steer while a check runs. */
export const sendModes = (isChecking: boolean): readonly SendMode[] =>
  isChecking
    ? WORKING_MODES.filter(({ mode }) => mode !== 'steer').map((one) => ({
        ...one,
        does: CHECKING_MODES[one.mode] ?? one.does,
        keys: one.mode === 'now' ? 'Ctrl Enter' : one.keys,
      }))
    : WORKING_MODES;

/** When the next queued message goes, while the session is at work. */
export const nextGoes = (isChecking: boolean): string =>
  isChecking ? 'the next one is sent after the check' : 'the next one is sent when this turn ends';
