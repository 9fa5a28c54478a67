import { z } from 'zod';
import { Draft, DraftFile, FILES_KEY } from './drafts.ts';
import { StageId } from './ids.ts';
import { Attachment } from './messages.ts';

const onStage = { stageId: StageId };
const DraftToPut = Draft.omit({ updatedAt: true }).extend({
  key: Draft.shape.key.refine((key) => key !== FILES_KEY, 'is managed by the server; add or remove files instead'),
});

/** What was begun to write for a stage, with the files of its next message. */
export const draftCommands = {
  get_drafts: { time: 'read', input: z.object(onStage), reply: z.object({ drafts: z.array(Draft) }) },
  put_draft: {
    input: DraftToPut,
    reply: z.object({
      draft: Draft,
      /** The text of the message that this `MessageDraft` was sent as. Nothing was stored, and the value of `draft` is null. */
      sent: z.string().optional(),
    }),
  },
  /** Stores a file for the next message. The sender chooses the id, so a repeated request stores the file once. */
  add_draft_file: {
    input: z.object({ ...onStage, fileId: z.uuid(), file: Attachment }),
    reply: z.object({ file: DraftFile }),
  },
  get_draft_file: { input: z.object({ ...onStage, fileId: z.uuid() }), reply: z.object({ file: Attachment }) },
  remove_draft_file: { input: z.object({ ...onStage, fileId: z.uuid() }), reply: z.object({ file: DraftFile }) },
} as const;
