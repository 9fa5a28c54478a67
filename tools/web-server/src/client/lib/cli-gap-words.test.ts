import { expect, it } from 'vitest';
import { gapSentences, gapsWords } from './cli-gap-words.ts';

it('says how many promises a release does not keep, and nothing of one that keeps them all', () => {
  expect(gapsWords({ cliVersion: '2.1.330', cliGaps: [] })).toBeNull();
  expect(gapsWords({ cliVersion: '2.1.240', cliGaps: ['questions cannot be answered'] })).toBe(
    'Claude Code 2.1.240 does not keep 1 promise Callboard relies on',
  );
  expect(gapsWords({ cliVersion: null, cliGaps: ['one', 'two'] })).toBe(
    'This release of Claude Code does not keep 2 promises Callboard relies on',
  );
});

it('makes a sentence of each', () => {
  expect(
    gapSentences({ cliVersion: null, cliGaps: ['questions cannot be answered', 'Claude may read twice'] }),
  ).toEqual(['Questions cannot be answered.', 'Claude may read twice.']);
});
