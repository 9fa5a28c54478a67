import type { z } from 'zod';
import { UsageError } from '../errors.ts';
import type { Given } from './flags.ts';

/** Turns what the user gave into options. Throws one UsageError with a line for each bad value, naming its source. */
export function parseGiven<T>(schema: z.ZodType<T>, given: Given): T {
  const values = Object.fromEntries([...given].map(([name, { value }]) => [name, value]));
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  const complaints = parsed.error.issues.map(({ path, message }) => {
    const name = String(path[0]);
    return `${given.get(name)?.from ?? `--${name}`}: ${message}.`;
  });
  throw new UsageError(complaints.join('\ncallboard: '));
}
