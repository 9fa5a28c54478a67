import { isDeepStrictEqual } from 'node:util';
import { addEntry, type SessionChange } from '../domain/session-change.ts';

/** What is known of the program that a session runs. */
export interface ToldProgram {
  version: string | null;
  /** What it is known not to do, in short words for people. */
  gaps: readonly string[];
}

/** Keeps in the session what its program does not do, and says so in the transcript where that is new. */
export function tellProgram(change: SessionChange, now: string, { version, gaps }: ToldProgram): void {
  const { cliGaps: told, cliVersion } = change.record;
  change.record = { ...change.record, cliVersion: version, cliGaps: [...gaps] };
  if (gaps.length === 0 || (isDeepStrictEqual(told, gaps) && cliVersion === version)) return;
  const text = `Claude Code ${version ?? '(its version is not known)'} does not do all that Callboard relies on: ${gaps.join('; ')}. "claude update" installs a newer one, which this session runs from its next start on.`;
  addEntry(change, now, { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'cli-gaps', text });
}
