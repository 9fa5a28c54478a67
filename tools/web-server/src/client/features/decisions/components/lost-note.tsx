import type { LostTrace } from '@callboard/contract';
import { TimeSince } from '../../../ui/time-since.tsx';

/** What is known of an answer that nobody confirmed: when it was handed over, when and why its process or its turn ended. */
export function LostNote({ lost }: { lost: LostTrace | null }) {
  if (lost === null) return 'The process ended before it confirmed the answer.';
  const { ended, writtenAt, endedAt, endReason } = lost;
  return (
    <>
      {writtenAt === null ? (
        'It may have been handed to Claude'
      ) : (
        <>
          Handed to Claude <TimeSince at={writtenAt} ago />
        </>
      )}
      ; {ended === 'turn' ? 'its turn' : 'the process'} ended <TimeSince at={endedAt} ago />, before it was confirmed.{' '}
      {endReason}
    </>
  );
}
