import { renderTemplate, type Stage, type TemplateValues } from '@callboard/contract';
import type { CheckRecord } from '../store/records.ts';

/** How much of a check's output goes to Claude, in characters. */
export const MAX_OUTPUT_LENGTH = 12_000;

/** How it ended, as the end of a sentence. */
export function endText({ state, exitCode, reason, timeLimit }: CheckRecord): string {
  if (state === 'timed-out') return `did not end within ${formatSeconds(timeLimit)}`;
  if (exitCode !== null) return `ended with exit code ${exitCode}`;
  return reason === null ? 'failed' : `failed: ${reason}`;
}

const formatSeconds = (seconds: number): string =>
  seconds % 60 === 0 ? (seconds === 60 ? 'a minute' : `${seconds / 60} minutes`) : `${seconds} seconds`;

/** Returns the message with which the failure of a check goes to Claude. */
export function failureMessage(run: CheckRecord, stage: Stage, values: TemplateValues): string {
  const gate = stage.pipeline[run.phaseIndex]?.gate;
  const own = typeof gate === 'object' ? gate.check.message : undefined;
  return own === undefined ? usualMessage(run) : renderTemplate(own, values);
}

function usualMessage(run: CheckRecord): string {
  const { phase, command, failures, attempts, output } = run;
  const fence = fenceFor(`${command}\n${output}`);
  const left = attempts - failures;
  const often =
    failures < attempts ? ` It has failed ${failures} of ${attempts} times; after ${left} more a person decides.` : '';
  const reported =
    output === '' ? 'It printed nothing.' : `The end of its output:\n\n${fence}text\n${output}\n${fence}`;
  return `The check of the phase "${phase}" did not pass. This command ${endText(run)}:\n\n${fence}sh\n${command}\n${fence}\n\n${reported}\n\nFind the cause and mend it; do not weaken the check.${often} It runs again when you are done.`;
}

/** Returns a fence that is in no line of the text. */
function fenceFor(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  return '`'.repeat(longest + 1);
}
