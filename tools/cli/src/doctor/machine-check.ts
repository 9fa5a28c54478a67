import { z } from 'zod';

/** `problem`: Callboard will not work, or not all of it. `warning`: it will, and this is worth knowing. */
const Verdict = z.enum(['ok', 'warning', 'problem']);

/** One thing that was looked at. */
export const MachineCheck = z.object({
  id: z.string(),
  /** As people read it. */
  name: z.string(),
  verdict: Verdict,
  /** What there is, in one line. */
  found: z.string(),
  /** What to do, in one line; null where there is nothing to do. */
  advice: z.string().nullable(),
});
export type MachineCheck = z.infer<typeof MachineCheck>;

/** What is told of one thing, before it has its name. */
export type Finding = Omit<MachineCheck, 'id' | 'name'>;

export const ok = (found: string): Finding => ({ verdict: 'ok', found, advice: null });
export const warning = (found: string, advice: string): Finding => ({ verdict: 'warning', found, advice });
export const problem = (found: string, advice: string): Finding => ({ verdict: 'problem', found, advice });

/** Gives a finding its name. What a check did not expect becomes a problem of its own: the others go on. */
export async function named(id: string, name: string, look: () => Finding | Promise<Finding>): Promise<MachineCheck> {
  try {
    return { id, name, ...(await look()) };
  } catch (error) {
    const found = `could not be looked at: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`;
    return { id, name, ...problem(found, 'Please report this as a fault of Callboard.') };
  }
}
