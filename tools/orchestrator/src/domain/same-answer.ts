import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** The fields of an answer that have an effect. Other fields, which a future CLI may add to its echo, are ignored. */
const Answer = z.object({
  subtype: z.string(),
  error: z.string().nullish(),
  response: z
    .object({
      behavior: z.unknown(),
      message: z.unknown(),
      interrupt: z.unknown(),
      updatedInput: z.unknown(),
      updatedPermissions: z.unknown(),
      action: z.unknown(),
      content: z.unknown(),
    })
    .partial()
    .nullish(),
});

/**
 * Whether an echo has the same effect as Callboard's answer.
 * @param input the input of the request: the CLI may echo an answer that does not change the input with it
 */
export function isSameAnswer(
  ours: Readonly<Record<string, unknown>>,
  echoed: Readonly<Record<string, unknown>>,
  input: unknown,
): boolean {
  const [given, reported] = [Answer.safeParse(ours), Answer.safeParse(echoed)];
  if (!given.success || !reported.success) return isDeepStrictEqual(ours, echoed);
  return isDeepStrictEqual(effectOf(given.data, input), effectOf(reported.data, input));
}

/** Returns the answer without the keys that mean the same as their absence. */
function effectOf({ subtype, error, response }: z.infer<typeof Answer>, input: unknown): unknown {
  const entries = Object.entries(response ?? {}).filter(([key, value]) => {
    if (value === null || value === undefined || (key === 'interrupt' && value === false)) return false;
    if (key === 'updatedPermissions') return !isDeepStrictEqual(value, []);
    return key !== 'updatedInput' || !isDeepStrictEqual(value, input);
  });
  return { subtype, error: error ?? null, response: Object.fromEntries(entries) };
}
