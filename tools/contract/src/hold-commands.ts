import { z } from 'zod';
import { Hold, HoldBody } from './holds.ts';

const reply = z.object({ holds: z.array(Hold) });

/** Holds of projects and of everything; a single stage that is on hold says so itself. */
export const holdCommands = {
  get_holds: { time: 'read', input: z.object({}), reply },
  /** Puts stages on hold, or releases them. What waited goes on where it was, once. */
  put_hold: { time: 'slow', input: HoldBody, reply },
} as const;
