import type { LostTrace } from '@callboard/contract';
import { exactTime } from '../../../lib/time.ts';

/** What is known of an answer that nobody confirmed: when it was handed over, when and why the process ended. */
export function lostWords(lost: LostTrace | null): string {
  if (lost === null) return 'The process ended before it confirmed the answer.';
  const { writtenAt, endedAt, endReason } = lost;
  const handed =
    writtenAt === null ? 'It may have been handed to Claude' : `Handed to Claude at ${exactTime(writtenAt)}`;
  return `${handed}; the process ended at ${exactTime(endedAt)} before it confirmed. ${endReason}`;
}
