/** A longer tool result keeps its beginning and its end; the CLI itself shows the model far less. */
export const MAX_RESULT_LENGTH = 200_000;
/** For one string of a text, a thought, or a tool call: longer than any reply of a model. */
export const MAX_STRING_LENGTH = 2_000_000;
/** For a line of the CLI that Callboard does not understand, as JSON. */
export const MAX_RAW_LENGTH = 200_000;

/** Cuts the middle out of a long text and says how much is missing. */
export function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const half = maxLength / 2;
  return `${text.slice(0, half)}\n\n[${text.length - maxLength} characters omitted]\n\n${text.slice(-half)}`;
}

/** Truncates every string of a JSON object, however deep. */
export function truncateStrings(value: Record<string, unknown>, maxLength: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, truncateValue(each, maxLength)]));
}

function truncateValue(value: unknown, maxLength: number): unknown {
  if (typeof value === 'string') return truncate(value, maxLength);
  if (Array.isArray(value)) return value.map((each) => truncateValue(each, maxLength));
  return typeof value === 'object' && value !== null ? truncateStrings({ ...value }, maxLength) : value;
}

/** Returns a line as it came, or, if it is too long, its truncated JSON text. */
export function truncateRaw(raw: unknown): unknown {
  const json = JSON.stringify(raw) ?? '';
  return json.length <= MAX_RAW_LENGTH ? raw : truncate(json, MAX_RAW_LENGTH);
}
