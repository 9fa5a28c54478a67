import {
  type Check,
  type CheckRun,
  type CheckState,
  checkOf,
  type Gate,
  hasFailed,
  type StageView,
} from '@callboard/contract';

/** The result of the newest check, for a row or a card: "checks passed", "checks failed (2 of 3)". Empty while there is none. */
export function checkResult(stage: Pick<StageView, 'session'>): string {
  const check = stage.session?.check ?? null;
  if (check === null) return '';
  if (check.state === 'passed') return 'checks passed';
  if (!hasFailed(check)) return '';
  return check.failures === 0 ? 'checks failed' : `checks failed (${check.failures} of ${check.attempts})`;
}

/** A run's state in a word or two. */
export const RUN_TEXTS: Readonly<Record<CheckState, string>> = {
  waiting: 'Waiting to run',
  running: 'Running',
  passed: 'Passed',
  failed: 'Failed',
  'timed-out': 'Ran too long',
  stopped: 'Stopped',
  interrupted: 'Ended by a restart, run again',
  'not-started': 'Could not run',
};

/** What a person should know about a run beside its state: its exit code, what followed from it, who asked for it. */
export function runFacts({ state, exitCode, failures, attempts, messageId, by }: CheckRun): string[] {
  const failed = state === 'failed' || state === 'timed-out';
  return [
    ...(exitCode === null || exitCode === 0 ? [] : [`exit code ${exitCode}`]),
    ...(failed ? [`failure ${failures} of ${attempts}`] : []),
    ...(messageId === null ? [] : ['sent to Claude']),
    ...(by === null ? [] : [`run by ${by}`]),
  ];
}

/** How long a run took: "0:42". Null before it has ended. */
export function runTime({ startedAt, endedAt }: CheckRun): string | null {
  if (startedAt === null || endedAt === null) return null;
  const seconds = Math.max(0, Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

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
