import { expect, it } from 'vitest';
import { gapSentences, gapsText } from './stage-status.ts';

it('counts the features a release lacks, and is null if it has all', () => {
  expect(gapsText({ cliVersion: '2.1.330', cliGaps: [] })).toBeNull();
  expect(gapsText({ cliVersion: '2.1.240', cliGaps: ['questions cannot be answered'] })).toBe(
    'Claude Code 2.1.240 lacks 1 feature Callboard relies on',
  );
  expect(gapsText({ cliVersion: null, cliGaps: ['one', 'two'] })).toBe(
    'This release of Claude Code lacks 2 features Callboard relies on',
  );
});

it('turns each gap into a sentence', () => {
  expect(
    gapSentences({ cliVersion: null, cliGaps: ['questions cannot be answered', 'Claude may read twice'] }),
  ).toEqual(['Questions cannot be answered.', 'Claude may read twice.']);
});
