import type { SessionNow } from '@callboard/contract';
import { toolTitle } from '../../../lib/tool-words.ts';

/** What Claude does now; `code` is a command or a path. */
export interface NowWords {
  words: string;
  code: string | null;
}

export const STARTING: NowWords = { words: 'Starting Claude…', code: null };

/** Says what a session does now, for the end of its transcript. */
export function nowWords(now: SessionNow | null): NowWords {
  switch (now?.kind) {
    case 'tool':
      return now.isCommand ? { words: 'Running', code: now.action } : { words: now.action, code: null };
    case 'review':
      return { words: 'Reviewing the changes…', code: null };
    case 'check':
      return { words: 'Checking with', code: now.command };
    case 'background':
      return { words: 'Waiting for the background command', code: now.action };
    case 'preparing':
      return { words: `Preparing a call of ${toolTitle(now.toolName)}…`, code: null };
    case 'writing':
      return { words: 'Writing…', code: null };
    case 'thinking':
      return { words: 'Thinking…', code: null };
    case undefined:
      return { words: 'Working…', code: null };
    default:
      return now satisfies never;
  }
}
