/** A tool's result that is longer is kept by its beginning and its end; the CLI itself cuts what the model reads far shorter. */
export const LONGEST_RESULT = 200_000;
/** Longer than any reply of a model: one string of a text, a thought, or a tool call. */
export const LONGEST_STRING = 2_000_000;
/** A line of the CLI that is not understood, as JSON. */
export const LONGEST_RAW = 200_000;

/** A text by its beginning and its end, with how much of it is not kept. */
export function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const half = longest / 2;
  return `${text.slice(0, half)}\n\n[${text.length - longest} characters are not kept]\n\n${text.slice(-half)}`;
}

/** A JSON object with all strings in it shortened. */
export function shortenedObject(value: Record<string, unknown>, longest: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortenedValue(each, longest)]));
}

function shortenedValue(value: unknown, longest: number): unknown {
  if (typeof value === 'string') return shortened(value, longest);
  if (Array.isArray(value)) return value.map((each) => shortenedValue(each, longest));
  return typeof value === 'object' && value !== null ? shortenedObject({ ...value }, longest) : value;
}

/** A line as it came; one that is too long only as a part of its JSON text. */
export function shortenedRaw(raw: unknown): unknown {
  const json = JSON.stringify(raw) ?? '';
  return json.length <= LONGEST_RAW ? raw : shortened(json, LONGEST_RAW);
}
