/**
 * Keeps the values that were asked for last. A start that migrates the store asks for hundreds of statements that nobody asks for
 * again: were they kept for good, nothing of what runs all day would be.
 */
export function retainRecent<Value>(most: number, make: (key: string) => Value) {
  const saved = new Map<string, Value>();
  return {
    /** Makes the value if it is not kept. */
    get(key: string): Value {
      const value = saved.get(key) ?? make(key);
      saved.delete(key); // what is set again is the newest
      saved.set(key, value);
      if (saved.size > most) saved.delete(saved.keys().next().value ?? '');
      return value;
    },
    clear: () => saved.clear(),
  };
}
