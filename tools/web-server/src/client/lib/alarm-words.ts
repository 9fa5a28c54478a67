import type { AlarmCode } from '@callboard/contract';

/** What raised the alarm, in a few words: for a card and for the title of a notice. */
export const ALARM_WORDS: Readonly<Record<AlarmCode, string>> = {
  'foreign-answer': 'Answered from elsewhere',
  'foreign-control': 'Settings changed from elsewhere',
  'foreign-message': 'A message nobody sent',
  'foreign-mode': 'Mode changed from elsewhere',
  'forged-output': 'Forged output',
  'foreign-rule': 'A rule nobody gave',
  'foreign-hook': 'A hook nobody agreed to',
  'transcript-mismatch': 'Transcript does not match',
};
