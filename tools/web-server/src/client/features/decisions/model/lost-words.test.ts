import { expect, it } from 'vitest';
import { lostWords } from './lost-words.ts';

const AT = '2026-01-01T10:00:00.000Z';
const end = { ended: 'process', endedAt: AT, endReason: 'Ended by SIGKILL.' } as const;

it('says when it was handed over and why the process ended, and does not claim more than is known', () => {
  expect(lostWords({ writtenAt: AT, ...end })).toMatch(
    /^Handed to Claude at .*2026.*; the process ended .* Ended by SIGKILL\.$/,
  );
  expect(lostWords({ writtenAt: null, ...end })).toMatch(/^It may have been handed to Claude;/);
  expect(lostWords({ writtenAt: AT, ...end, ended: 'turn' })).toMatch(/; its turn ended at /);
  expect(lostWords(null)).toBe('The process ended before it confirmed the answer.');
});
