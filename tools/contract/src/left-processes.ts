import { z } from 'zod';

/** A process that outlived the session that started it. */
export const LeftProcess = z.object({
  pid: z.int().positive(),
  /** Its command line, cut if it is long. */
  command: z.string(),
  startedAt: z.iso.datetime(),
});
export type LeftProcess = z.infer<typeof LeftProcess>;
