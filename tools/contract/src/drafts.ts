import { z } from 'zod';
import { StageId } from './ids.ts';
import { AttachmentInfo } from './messages.ts';

/** As long as the longest message becomes at worst, when JSON writes each of its characters as six. */
const MOST_CHARACTERS = 1_300_000;

/**
 * Something a person has begun to write and not sent: kept by the server, so that it survives a reload and a change of
 * device. `key` says what of: `message` for the stage's message box, `files` for the files that go
 * with it (`DraftFile[]`, written by the server alone), `replaced:<message id>` for a message whose place in the queue
 * another one took (`ReplacedMessage`), or the id of a request.
 */
export const Draft = z.object({
  stageId: StageId,
  key: z.string().min(1).max(200),
  /** Whatever the form makes of it; null removes the draft. */
  value: z
    .unknown()
    .refine((value) => JSON.stringify(value ?? null).length <= MOST_CHARACTERS, 'is too long for a draft'),
  updatedAt: z.iso.datetime(),
  /** The tab that wrote it, which need not take it over again. */
  writer: z.string().max(100).nullable(),
});
export type Draft = z.infer<typeof Draft>;

export const FILES_KEY = 'files';

/** A file that is to go with the next message: kept by the server until it is sent or taken away. */
export const DraftFile = AttachmentInfo.extend({ fileId: z.uuid(), size: z.int().nonnegative() });
export type DraftFile = z.infer<typeof DraftFile>;

export const REPLACED_PREFIX = 'replaced:';

/** A message that waited when another one replaced it: kept, with its files, until it is sent after all or discarded. */
export const ReplacedMessage = z.object({
  text: z.string(),
  isCommand: z.boolean(),
  /** Its place in the queue, among others. */
  position: z.int(),
  files: z.array(DraftFile),
});
export type ReplacedMessage = z.infer<typeof ReplacedMessage>;

const MOST_FILES = 20;
/** Of all files together: a message has 25 MiB, in which three bytes of a file take four. */
const MOST_MEBIBYTES = 18;

/** Why these files cannot go along with those that are kept, in words for a person; null when they can. */
export function filesProblem(kept: readonly { size: number }[], more: readonly { size: number }[]): string | null {
  const all = [...kept, ...more];
  if (all.length > MOST_FILES) return `A message can take ${MOST_FILES} files at most; these would be ${all.length}.`;
  const mebibytes = all.reduce((sum, file) => sum + file.size, 0) / 1024 / 1024;
  if (mebibytes <= MOST_MEBIBYTES) return null;
  return `A message can take ${MOST_MEBIBYTES} MiB of files at most; these would be ${Math.ceil(mebibytes)} MiB.`;
}
