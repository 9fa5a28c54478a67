import { ALARM_WORDS } from '../../../lib/needs-you-words.ts';

const TITLES: Readonly<Record<string, string>> = {
  ...ALARM_WORDS,
  'alarm-acknowledged': 'Alarm acknowledged',
  'api-retry': 'Trying again',
  compacted: 'Conversation compacted',
  'conversation-cleared': 'Conversation cleared',
  'conversation-lost': 'Conversation lost',
  'launch-failed': 'Claude could not be started',
  leftovers: 'Still running',
  'leftovers-ended': 'Processes ended',
  'model-fallback': 'Another model',
  'new-rules': 'New rules',
  'output-cut-off': 'A line was cut off',
  'output-lost': 'A gap',
  'permission-denied': 'Not allowed',
  'process-ended': 'The process ended',
  'session-message': 'Message from another session',
  'settings-changed': 'Settings changed',
  'settings-left-out': 'Without the repository’s settings',
  'too-large': 'Too large to be asked for',
  'unknown-request': 'A request that is not known',
};

/** The title of a notice; null if its text is enough. */
export const noticeTitle = (code: string): string | null => TITLES[code] ?? null;
