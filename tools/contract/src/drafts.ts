import { z } from 'zod';
import { StageId } from './ids.ts';

/**
 * Something a person has begun to write and not sent: kept by the server, so that it survives a reload and a change of
 * device. `key` says what of: `message` for the stage's message box, or the id of a request.
 */
export const Draft = z.object({
  stageId: StageId,
  key: z.string().min(1).max(200),
  /** Whatever the form makes of it; null removes the draft. */
  value: z.unknown().refine((value) => JSON.stringify(value ?? null).length <= 200_000, 'is too long for a draft'),
  updatedAt: z.iso.datetime(),
  /** The tab that wrote it, which need not take it over again. */
  writer: z.string().max(100).nullable(),
});
export type Draft = z.infer<typeof Draft>;
