/**
 * Keeps the values that were asked for last. A start that migrates the store asks for hundreds of statements that nobody asks for
 * again: were they kept for good, nothing of what runs all day would be.
 */
export function keepRecent<Value>(most: number, make: (key: string) => Value) {
  const kept = new Map<string, Value>();
  return {
    /** Makes the value if it is not kept. */
    get(key: string): Value {
      const value = kept.get(key) ?? make(key);
      kept.delete(key); // what is set again is the newest
      kept.set(key, value);
      if (kept.size > most) kept.delete(kept.keys().next().value ?? '');
      return value;
    },
    clear: () => kept.clear(),
  };
}
