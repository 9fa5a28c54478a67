/** `npm run test:all` runs every variant of a scenario, `npm test` those that stand for the others. */
const ALL = process.env.CALLBOARD_TEST_ALL === '1';

/** The first few of them, or all. @param few how many stand for the others */
export const variants = <T>(all: readonly T[], few = 1): readonly T[] => (ALL ? all : all.slice(0, few));
