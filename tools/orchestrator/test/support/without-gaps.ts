import type { TranscriptEntry } from '@callboard/contract';

/** A transcript without what it says of an older release of Claude Code: `npm run versions` runs the tests with those. */
export const withoutGaps = (entries: readonly TranscriptEntry[]): TranscriptEntry[] =>
  entries.filter((entry) => entry.kind !== 'notice' || entry.code !== 'cli-gaps');
