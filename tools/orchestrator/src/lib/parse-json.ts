/** Returns the parsed text; undefined if it is no JSON, for instance because it was cut off. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
