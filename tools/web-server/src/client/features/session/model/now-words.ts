import type { SessionNow } from '@callboard/contract';
import { toolTitle } from '../../../lib/tool-words.ts';

/** What Claude does now; `code` is a command or a path. */
export interface ActivityText {
  text: string;
  code: string | null;
}

export const STARTING: ActivityText = { text: 'Starting Claude…', code: null };

/** Says what a session does now, for the end of its transcript. */
export function activityText(now: SessionNow | null): ActivityText {
  switch (now?.kind) {
    case 'tool':
      return now.isCommand ? { text: 'Running', code: now.action } : { text: now.action, code: null };
    case 'review':
      return { text: 'Reviewing the changes…', code: null };
    case 'check':
      return { text: 'Checking with', code: now.command };
    case 'background':
      return { text: 'Waiting for the background command', code: now.action };
    case 'preparing':
      return { text: `Preparing a call of ${toolTitle(now.toolName)}…`, code: null };
    case 'writing':
      return { text: 'Writing…', code: null };
    case 'thinking':
      return { text: 'Thinking…', code: null };
    case undefined:
      return { text: 'Working…', code: null };
    default:
      return now satisfies never;
  }
}
