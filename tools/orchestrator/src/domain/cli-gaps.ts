import { isDeepStrictEqual } from 'node:util';
import { addNotice, type SessionChange } from './session-change.ts';

/** A gap that the session keeps, so that its card shows it. */
export const MINIMAL_MODE = 'it runs in its minimal mode, so CLAUDE.md and hooks are left out';

/** The program that a session runs. */
export interface ProgramGaps {
  version: string | null;
  /** The features that it lacks, in short words for people. */
  gaps: readonly string[];
}

/** Stores which features the program of a session lacks, and reports them in the transcript if they are new. */
export function setCliGaps(change: SessionChange, now: string, { version, gaps }: ProgramGaps): void {
  const { cliGaps: known, cliVersion } = change.record;
  change.record = { ...change.record, cliVersion: version, cliGaps: [...gaps] };
  if (gaps.length === 0 || (isDeepStrictEqual(known, gaps) && cliVersion === version)) return;
  const advice = '"claude update" installs a newer one, which this session uses from its next start.';
  reportGaps(change, now, `${gaps.join('; ')}. ${advice}`);
}

/** Adds a gap that was found while the session runs, and reports it in the transcript once. */
export function addCliGap(change: SessionChange, now: string, gap: string): void {
  const { cliGaps } = change.record;
  if (cliGaps.includes(gap)) return;
  change.record = { ...change.record, cliGaps: [...cliGaps, gap] };
  const advice = 'Run "npx callboard doctor" to see what else it lacks, and install another release.';
  reportGaps(change, now, `${gap}. Callboard did not ask for that. ${advice}`);
}

function reportGaps(change: SessionChange, now: string, message: string): void {
  const release = change.record.cliVersion ?? '(version unknown)';
  const text = `Claude Code ${release} lacks features that Callboard relies on: ${message}`;
  addNotice(change, now, { level: 'warning', code: 'cli-gaps', text });
}
