import { HandshakeCheck, HandshakeReport } from '@callboard/orchestrator/doctor';
import { z } from 'zod';
import { MachineCheck } from './machine-check.ts';

/** All that `callboard doctor` found out; what `--json` writes. */
export const Examination = z.object({
  /** Whether there is no problem, and no promise that does not hold. Warnings are none. */
  ok: z.boolean(),
  checks: z.array(MachineCheck),
  /** Null where it was not tried. */
  handshake: HandshakeReport.nullable(),
  /** What this version of `claude` does not do any more, against the last earlier one; null for nothing. */
  regression: z.object({ since: z.string(), lost: z.array(HandshakeCheck) }).nullable(),
});
export type Examination = z.infer<typeof Examination>;
