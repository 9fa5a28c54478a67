const RESAMPLES = 400;
/** Rounds next to each other resemble each other: what else the machine did lasted longer than one of them. */
const BLOCK = 5;

/**
 * Returns the standard error of a statistic, by a bootstrap of blocks of rounds: how far it would lie from its value in another
 * run that met the same machine. The same in every call.
 * @param statistic computes it from the picked rounds, some of which come more than once
 */
export function noiseOf(rounds: number, statistic: (picked: readonly number[]) => number): number {
  const next = createRandom();
  const values = Array.from({ length: RESAMPLES }, () => {
    const picked: number[] = [];
    while (picked.length < rounds) {
      const from = Math.floor(next() * rounds);
      for (let at = 0; at < BLOCK && picked.length < rounds; at++) picked.push((from + at) % rounds);
    }
    return statistic(picked);
  });
  const mean = values.reduce((sum, value) => sum + value, 0) / RESAMPLES;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (RESAMPLES - 1));
}

/** Numbers from 0 to below 1 (mulberry32). */
function createRandom(): () => number {
  let state = 1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
