import type { Stage } from '@callboard/contract';

/** The beginning of a commit's id, as git prints it. */
const shortCommit = (commit: string): string => commit.slice(0, 7);

/** What became of the work of a done stage. Only `merged` may be green. */
export function mergedText({ merged }: Pick<Stage, 'merged'>): { text: string; tone: 'merged' | 'plain' } {
  if (merged === null) return { text: 'not merged', tone: 'plain' };
  return { text: `merged ${shortCommit(merged.commit)} into ${merged.into}`, tone: 'merged' };
}
