import type { MessageMode, SessionState } from '@callboard/contract';
import { isComposing } from '../../ui/shortcuts.tsx';

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

/** What is unusual about a message sent now; empty if nothing is. The keys are in the menu of Send. */
export function composerText(state: SessionState | null, given: Given = {}): string {
  const { isDone = false, isAlarmed = false, isChecking = false, isInTerminal = false, isPaused = false } = given;
  if (isAlarmed) return 'Messages are queued until you acknowledge the alarm.';
  if (isInTerminal)
    return 'The conversation is in a terminal; a message takes it back once Claude Code has ended there.';
  if (isDone && state !== null) return 'This stage is done. Send a message to reopen it.';
  if (isPaused && state !== null) return 'On hold: a message waits until you release the stage.';
  if (isChecking) return 'A check is running: a message waits for its result.';
  switch (state) {
    case null:
      return 'Start the stage to write to Claude.';
    case 'starting':
    case 'busy':
    case 'waiting':
    case 'idle':
      return '';
    case 'ended':
    case 'failed':
      return 'Session ended. Send a message to resume.';
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
