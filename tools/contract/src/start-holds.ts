import { z } from 'zod';
import { StageId } from './ids.ts';

/** Why stages that are ready and start automatically do not start at the moment. A person's start is not held. */
export const StartDelay = z.object({
  code: z.enum(['budget', 'hold', 'machine', 'memory', 'usage-limit']),
  /** In a few words, for a card ("Waits for memory"). */
  reason: z.string(),
  /** When it ends by itself; null if that is not known. */
  until: z.iso.datetime().nullable(),
  /** The most urgent first. */
  stageIds: z.array(StageId),
});
export type StartDelay = z.infer<typeof StartDelay>;
