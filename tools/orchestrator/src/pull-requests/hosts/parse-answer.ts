import type { z } from 'zod';
import { Refusal } from '../refusal.ts';

/** Reads what a program printed as JSON. @throws Refusal `pull_request_refused` if it is something else */
export function parseAnswer<T extends z.ZodType>(program: string, schema: T, printed: string): z.output<T> {
  try {
    return schema.parse(JSON.parse(printed));
  } catch {
    const cause = `${program} returned something that Callboard does not understand. Update ${program}, then try again.`;
    throw new Refusal('pull_request_refused', `${cause}\n${printed.slice(0, 2_000)}`);
  }
}
