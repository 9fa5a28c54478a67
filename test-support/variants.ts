/** Whether this is `npm run test:all`, which runs every variant of a scenario; `npm test` runs what represents them (docs/decisions/tests.md). */
export const ALL = process.env.CALLBOARD_TEST_ALL === '1';

/** Returns the first few variants, or all. @param few how many represent the others */
export const variants = <T>(all: readonly T[], few = 1): readonly T[] => (ALL ? all : all.slice(0, few));
