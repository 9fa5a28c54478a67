import { z } from 'zod';
import { StageView } from './stages.ts';

/** An absolute path, or one relative to the repository. */
export const ImportBody = z.strictObject({
  path: z.string().trim().min(1),
  /** Follows the folder from then on: the project's `stageFolders` gets it. */
  watch: z.boolean().optional(),
});
export const ImportReply = z.object({
  stages: z.array(StageView),
  created: z.int(),
  updated: z.int(),
  /** Unknown keys in the frontmatter of the files; the import ignored them. */
  ignored: z.array(z.object({ file: z.string(), keys: z.array(z.string()) })),
});
