import type { TranscriptEntry } from '@callboard/contract';

/**
 * Returns a transcript without its notices about an older release of Claude Code: `npm run versions` runs the tests with
 * those releases.
 */
export const withoutGaps = (entries: readonly TranscriptEntry[]): TranscriptEntry[] =>
  entries.filter((entry) => entry.kind !== 'notice' || entry.code !== 'cli-gaps');
