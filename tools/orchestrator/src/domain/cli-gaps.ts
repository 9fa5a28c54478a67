import { addEntry, type SessionChange } from './session-change.ts';

/** Kept with the session, so that its card says it. */
export const MINIMAL = 'it runs in its minimal mode, so CLAUDE.md and hooks are left out';

/** Something that the program does not do shows while a session runs: it is kept in the session, and told in the transcript once. */
export function tellGap(change: SessionChange, now: string, gap: string): void {
  const { cliGaps, cliVersion } = change.record;
  if (cliGaps.includes(gap)) return;
  change.record = { ...change.record, cliGaps: [...cliGaps, gap] };
  const text = `Claude Code ${cliVersion ?? '(its version is not known)'} does not do all that Callboard relies on: ${gap}. Nobody asked for that here. Run "npx callboard doctor" to see what else it lacks, and install another release.`;
  addEntry(change, now, { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'cli-gaps', text });
}
