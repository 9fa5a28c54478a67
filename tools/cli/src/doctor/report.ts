import { HandshakeCheck, HandshakeReport } from '@callboard/orchestrator/doctor';
import { z } from 'zod';

/** `problem`: Callboard will not work, or only in part. `warning`: it works, and this is worth knowing. */
const Verdict = z.enum(['ok', 'warning', 'problem']);

/** The result of one check of the machine. */
export const MachineCheck = z.object({
  id: z.string(),
  /** For people. */
  name: z.string(),
  verdict: Verdict,
  /** What was found, in one line. */
  found: z.string(),
  /** What to do, in one line; null if there is nothing to do. */
  advice: z.string().nullable(),
});
export type MachineCheck = z.infer<typeof MachineCheck>;

/** The result of a check that has no name yet. */
export type Finding = Omit<MachineCheck, 'id' | 'name'>;

export const ok = (found: string): Finding => ({ verdict: 'ok', found, advice: null });
export const warning = (found: string, advice: string): Finding => ({ verdict: 'warning', found, advice });
export const problem = (found: string, advice: string): Finding => ({ verdict: 'problem', found, advice });

/** Runs a check and names its finding. A check that throws becomes a problem. Never rejects. */
export async function runCheck(
  id: string,
  name: string,
  check: () => Finding | Promise<Finding>,
): Promise<MachineCheck> {
  try {
    return { id, name, ...(await check()) };
  } catch (error) {
    const found = `could not be checked: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`;
    return { id, name, ...problem(found, 'Please report this as a bug in Callboard.') };
  }
}

/** All results of `callboard doctor`, as `--json` writes them. */
export const DoctorReport = z.object({
  /** Whether there is no problem and no broken promise. Warnings do not count. */
  ok: z.boolean(),
  checks: z.array(MachineCheck),
  /** Null if it was not tried. */
  handshake: HandshakeReport.nullable(),
  /** What the last earlier version of `claude` did and this one does not; null for nothing. */
  regression: z.object({ since: z.string(), lost: z.array(HandshakeCheck) }).nullable(),
});
export type DoctorReport = z.infer<typeof DoctorReport>;
