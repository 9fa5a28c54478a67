import { NoticeCode } from '@callboard/contract';
import { ALARM_WORDS } from '../../../lib/needs-you-words.ts';

/** Null where the text of the notice is enough. */
const TITLES: Readonly<Record<NoticeCode, string | null>> = {
  ...ALARM_WORDS,
  adopted: 'Continued from a terminal',
  'alarm-acknowledged': 'Alarm acknowledged',
  'api-retry': 'Trying again',
  'begun-again': null,
  check: null,
  review: null,
  'cli-gaps': null,
  compacted: 'Conversation compacted',
  'conversation-cleared': 'Conversation cleared',
  'conversation-lost': 'Conversation lost',
  'denial-acknowledged': null,
  'limit-reset': null,
  released: null,
  forked: null,
  'going-back-failed': null,
  'going-back-undone': null,
  'gone-back': null,
  'in-terminal': 'Continued in a terminal',
  informational: null,
  'launch-failed': 'Claude could not be started',
  leftovers: 'Still running',
  'leftovers-ended': 'Processes ended',
  'message-unknown': null,
  merged: null,
  'merge-undone': null,
  'model-fallback': 'Another model',
  'new-rules': 'New rules',
  notification: null,
  'output-cut-off': 'A line was cut off',
  'output-lost': 'A gap',
  'permission-denied': 'Not allowed',
  phase: null,
  'pull-request': null,
  'process-ended': 'The process ended',
  reopened: null,
  'rules-not-told': null,
  'sandbox-left': null,
  'sandbox-loosened': null,
  'session-message': 'Message from another session',
  'settings-changed': 'Settings changed',
  'settings-left-out': 'Without the repository’s settings',
  'taken-back': null,
  'task-stopped': null,
  'told-again': null,
  'too-large': 'Too large to ask about',
  'turn-forgotten': null,
  'unknown-permission-request': null,
  'unknown-request': 'Unknown request',
  worktree: null,
};

/** The title of a notice; null if its text is enough, or if the code is that of another Callboard. */
export function noticeTitle(code: string): string | null {
  const known = NoticeCode.safeParse(code);
  return known.success ? TITLES[known.data] : null;
}
