import type { LostTrace } from '@callboard/contract';
import { TimeSince } from '../../../ui/time-since.tsx';

/** The known facts about an unconfirmed answer: when it was handed over, and when and why its process or turn ended. */
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
