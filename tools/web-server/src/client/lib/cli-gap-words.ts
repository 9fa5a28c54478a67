import type { SessionSummary } from '@callboard/contract';
import { count } from './format.ts';

type Reported = Pick<SessionSummary, 'cliVersion' | 'cliGaps'>;

/** How many features that Callboard relies on the session's Claude Code release lacks, in one line; null if none is known. */
export function gapsText({ cliVersion, cliGaps }: Reported): string | null {
  if (cliGaps.length === 0) return null;
  const release = cliVersion === null ? 'This release of Claude Code' : `Claude Code ${cliVersion}`;
  return `${release} lacks ${count(cliGaps.length, 'feature')} Callboard relies on`;
}

/** What is missing, one sentence each. */
export const gapSentences = ({ cliGaps }: Reported): string[] =>
  cliGaps.map((gap) => `${gap.charAt(0).toUpperCase()}${gap.slice(1)}.`);
