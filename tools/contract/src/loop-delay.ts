import { z } from 'zod';

/** How late the event loop of a process reached its timers in the last 30 to 60 seconds. */
export const LoopDelay = z.object({ p50Ms: z.number(), p99Ms: z.number(), maxMs: z.number() });
export type LoopDelay = z.infer<typeof LoopDelay>;
