import type { LostTrace } from '@callboard/contract';
import { exactTime } from '../../../lib/time.ts';

/** What is known of an answer that nobody confirmed: when it was handed over, when and why its process or its turn ended. */
export function lostWords(lost: LostTrace | null): string {
  if (lost === null) return 'The process ended before it confirmed the answer.';
  const { ended, writtenAt, endedAt, endReason } = lost;
  const handed =
    writtenAt === null ? 'It may have been handed to Claude' : `Handed to Claude at ${exactTime(writtenAt)}`;
  return `${handed}; ${ended === 'turn' ? 'its turn' : 'the process'} ended at ${exactTime(endedAt)} before it was confirmed. ${endReason}`;
}
