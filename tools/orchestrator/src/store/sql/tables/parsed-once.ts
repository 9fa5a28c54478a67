/** A board has a few hundred stages, which are read all the time. */
const MAX = 1_000;

/**
 * Parses and checks a document once while its text stays the same. Comparing texts costs almost nothing; checking five
 * hundred documents costs as much as a whole turn. The values are frozen.
 */
export function parsedOnce<T>(parse: (text: string) => T): (id: string, text: string) => T {
  const known = new Map<string, { text: string; value: T }>();
  return (id, text) => {
    const before = known.get(id);
    if (before?.text === text) return before.value;
    const value = Object.freeze(parse(text));
    known.delete(id); // moves it to the end
    known.set(id, { text, value });
    for (const oldest of known.keys()) {
      if (known.size <= MAX) break;
      known.delete(oldest);
    }
    return value;
  };
}
