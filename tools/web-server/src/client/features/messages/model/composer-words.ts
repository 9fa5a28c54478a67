import type { MessageMode, SessionState } from '@callboard/contract';

const KEYS = 'Enter sends, Shift Enter makes a new line, / lists commands, @ files.';
const WORKING_KEYS = 'Enter queues, Ctrl Enter steers this turn, Ctrl Shift Enter interrupts and sends now.';

interface Given {
  isDone?: boolean;
  /** The session is under alarm. */
  isAlarmed?: boolean;
}

/** What happens to a message sent now, and by which keys. */
export function composerWords(state: SessionState | null, { isDone = false, isAlarmed = false }: Given = {}): string {
  if (isAlarmed) return `The session is under alarm; a message is queued until you acknowledge it. ${KEYS}`;
  if (isDone && state !== null) return `This stage is done; a message reopens it. ${KEYS}`;
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

/** Why messages are held, and the action that releases them; null if only the end of the alarm does. */
export function heldWords({ isAlarmed, sinceAlarm }: { isAlarmed: boolean; sinceAlarm: boolean }): {
  why: string;
  action: string | null;
} {
  if (isAlarmed) return { why: 'Paused until you acknowledge the alarm.', action: null };
  if (sinceAlarm) return { why: 'Paused since the alarm.', action: 'Send queued' };
  return {
    why: 'Paused because the last turn failed or was interrupted.',
    action: 'Send queued',
  };
}

type Key = Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'isComposing'>;

/** How a key sends the message; null if it does not. */
export function modeOfKey(event: Key, isWorking: boolean): MessageMode | null {
  if (event.key !== 'Enter' || event.isComposing) return null;
  const isStrong = event.ctrlKey || event.metaKey;
  if (event.shiftKey && !isStrong) return null;
  if (!isStrong || !isWorking) return 'append';
  return event.shiftKey ? 'now' : 'steer';
}

/** The ways to send while Claude works, in menu order. */
export const SEND_MODES: readonly { mode: MessageMode; label: string; does: string; keys: string }[] = [
  { mode: 'append', label: 'Queue', does: 'Goes when this turn has ended', keys: 'Enter' },
  { mode: 'steer', label: 'Steer', does: 'Goes into the running turn', keys: 'Ctrl Enter' },
  { mode: 'now', label: 'Send now', does: 'Interrupts Claude and goes at once', keys: 'Ctrl Shift Enter' },
  {
    mode: 'replace',
    label: 'Replace all queued',
    does: 'Takes the place of all that waits, which is kept aside',
    keys: '',
  },
];
