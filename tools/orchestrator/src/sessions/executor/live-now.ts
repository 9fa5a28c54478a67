import type { LiveNow } from '@callboard/contract';
import type { AgentEvent } from '../../agent/agent-event.ts';

/** The longest text that is told, in characters. */
const MAX_TAIL_LENGTH = 120;
/** How much text is kept to make it from: marks and blanks are left out. */
const SAVED = 4 * MAX_TAIL_LENGTH;

/** Tracks what Claude itself does in a turn: whether it writes, and what. A subagent's text is not told. */
export interface LiveNowTracker {
  take(event: AgentEvent): void;
  /** Returns null while it does nothing finer than thinking, and while a tool runs. */
  read(): LiveNow | null;
  /** The process is gone. */
  clear(): void;
}

/** @param onChange called for each change, also many times a second */
export function createLiveNow(onChange: () => void): LiveNowTracker {
  let doing: { kind: 'writing'; text: string } | { kind: 'preparing'; toolName: string } | null = null;

  function becomes(next: typeof doing): void {
    if (doing === null && next === null) return;
    doing = next;
    onChange();
  }

  return {
    take(event) {
      switch (event.type) {
        case 'delta': {
          if (event.parentToolUseId !== null) return;
          if (event.kind === 'thinking') return becomes(null);
          const before = doing?.kind === 'writing' ? doing.text : '';
          return becomes({ kind: 'writing', text: (before + event.text).slice(-SAVED) });
        }
        case 'preparing':
          if (event.parentToolUseId === null) becomes({ kind: 'preparing', toolName: event.toolName });
          return;
        case 'block':
          // The text of a block stays until something else follows: it is the newest thing that Claude did.
          if (event.parentToolUseId === null && event.block.kind !== 'text') becomes(null);
          return;
        case 'tool-result':
          if (event.parentToolUseId === null) becomes(null);
          return;
        case 'turn-started':
        case 'turn-ended':
          return becomes(null);
        default:
      }
    },
    read: () => (doing?.kind === 'writing' ? { kind: 'writing', text: plainTail(doing.text) } : doing),
    clear: () => becomes(null),
  };
}

/** Returns the end of a text as one plain line, without marks of Markdown. */
export function plainTail(text: string): string {
  const line = text
    .replaceAll(/```\w*/g, ' ')
    .replaceAll(/^[ \t]*(#{1,6}|[-*+]|\d+\.|>)[ \t]+/gm, '')
    .replaceAll(/\*\*|__|`/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (line.length <= MAX_TAIL_LENGTH) return line;
  const tail = line.slice(-MAX_TAIL_LENGTH);
  // The first word may be cut; without a blank near the beginning, it stays.
  const blank = tail.indexOf(' ');
  return (blank !== -1 && blank < MAX_TAIL_LENGTH / 2 ? tail.slice(blank + 1) : tail).replace(/^[\uDC00-\uDFFF]/, '');
}
