import { z } from 'zod';

/** Where to write the stages: a folder, absolute or relative to the repository. */
export const ExportBody = z.strictObject({ path: z.string().trim().min(1) });

/** What became of the files of an export. */
export const ExportReply = z.object({
  folder: z.string(),
  written: z.array(z.string()),
  unchanged: z.int().nonnegative(),
  /**
   * Files that stay as they are. `changed`: somebody changed it since it was last taken over or written. `another-stage`: it is no
   * file of this stage. `command`: the stage runs a command, which a file cannot say.
   */
  kept: z.array(z.object({ file: z.string(), reason: z.enum(['changed', 'another-stage', 'command']) })),
});
export type ExportReply = z.infer<typeof ExportReply>;
