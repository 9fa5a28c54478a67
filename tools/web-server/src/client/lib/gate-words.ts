import { type Check, checkOf, type Gate } from '@callboard/contract';

/** "10 minutes". */
function formatSeconds(seconds: number): string {
  if (seconds % 3_600 === 0) return seconds === 3_600 ? '1 hour' : `${seconds / 3_600} hours`;
  if (seconds % 60 === 0) return seconds === 60 ? '1 minute' : `${seconds / 60} minutes`;
  return seconds === 1 ? '1 second' : `${seconds} seconds`;
}

/** The limits of a check: "3 attempts, 10 minutes each". */
export const checkLimits = ({ attempts, timeLimit }: Check): string =>
  attempts === 1
    ? `1 attempt, ${formatSeconds(timeLimit)} at most`
    : `${attempts} attempts, ${formatSeconds(timeLimit)} each at most`;

/** What decides at the end of a phase, as a sentence. `isLast`: no phase follows. */
export function gateText(gate: Gate, isLast: boolean): string {
  const check = checkOf(gate);
  if (check !== null) return `Its check decides: ${checkLimits(check)}. A failure goes back to Claude.`;
  if (isLast) return gate === 'human' ? 'You review the stage and finish it.' : 'The stage is complete after it.';
  return gate === 'human' ? 'You start the next phase.' : 'The next phase starts automatically.';
}
