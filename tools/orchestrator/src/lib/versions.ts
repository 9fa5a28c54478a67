/** Compares two versions like `2.1.330`. Returns less than 0 if `a` is earlier, 0 if they are equal. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const numbersOf = (version: string) => (version.match(/\d+/g) ?? []).map(Number);
