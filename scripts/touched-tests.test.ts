import { expect, it } from 'vitest';
import { touchedBy } from './touched-tests.ts';

const PAGES = 'e2e/pages/board.e2e.test.ts';
const LOAD = 'e2e/load.e2e.test.ts';
const RULES = 'tools/orchestrator/test/integration/rules.integration.test.ts';
const READ_ONLY = 'tools/orchestrator/test/integration/read-only.integration.test.ts';
const TESTS = [PAGES, LOAD, RULES, READ_ONLY];

it('finds every scene that runs a changed part of the product', () => {
  expect(touchedBy(['tools/runtime/src/waits.ts'], TESTS)).toEqual(TESTS);
  expect(touchedBy(['tools/orchestrator/src/main.ts'], TESTS)).toEqual(TESTS);
  expect(touchedBy(['tools/web-server/src/client/app/base.css'], TESTS)).toEqual([PAGES, LOAD, READ_ONLY]);
  expect(touchedBy(['scripts/bundles.ts'], TESTS)).toEqual([PAGES, LOAD]);
});

it('finds the tests that name a file of support, or a program that one of their files starts', () => {
  expect(touchedBy(['tools/lab/load/run-load.ts'], TESTS)).toEqual([LOAD]);
  expect(touchedBy(['tools/orchestrator/test/support/small-disk.ts'], TESTS)).toEqual([READ_ONLY]);
  expect(touchedBy(['test-support/keep-compiled.js'], TESTS)).toEqual([RULES, READ_ONLY]);
});

it('finds a changed test, and nothing for text that no program reads', () => {
  expect(touchedBy([RULES, 'docs/guide.md', 'tools/web-server/README.md'], TESTS)).toEqual([RULES]);
  expect(touchedBy(['tools/orchestrator/src/lib/some.test.ts'], TESTS)).toEqual([]);
});

it('does not guess what needs a file that no test names', () => {
  expect(touchedBy(['package-lock.json'], TESTS)).toBe('all');
  expect(touchedBy(['vitest.config.ts', RULES], TESTS)).toBe('all');
});
