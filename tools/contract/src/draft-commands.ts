import { z } from 'zod';
import { type CommandDefinitions, type DocsOf, MESSAGE_BODY_LIMIT } from './command.ts';
import { Draft, DraftFile, FILES_KEY } from './drafts.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { Attachment } from './messages.ts';

const onStage = { stageId: StageId };
const DraftToPut = Draft.omit({ updatedAt: true }).extend({
  key: Draft.shape.key.refine((key) => key !== FILES_KEY, 'is managed by the server; add or remove files instead'),
});

/** What was begun to write for a stage, with the files of its next message. */
export const draftCommands = {
  get_drafts: {
    route: 'GET /api/sessions/:stageId/drafts',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ drafts: z.array(Draft) }),
  },
  put_draft: {
    route: 'POST /api/sessions/:stageId/drafts',
    input: DraftToPut,
    reply: z.object({
      draft: Draft,
      /** The text of the message that this `MessageDraft` was sent as. Nothing was stored, and the value of `draft` is null. */
      sent: z.string().optional(),
    }),
  },
  /** Stores a file for the next message. The sender chooses the id, so a repeated request stores the file once. */
  add_draft_file: {
    route: 'POST /api/sessions/:stageId/files',
    input: z.object({ ...onStage, fileId: z.uuid(), file: Attachment }),
    reply: z.object({ file: DraftFile }),
    bodyLimit: MESSAGE_BODY_LIMIT,
  },
  get_draft_file: {
    route: 'GET /api/sessions/:stageId/files/:fileId',
    input: z.object({ ...onStage, fileId: z.uuid() }),
    reply: z.object({ file: Attachment }),
  },
  remove_draft_file: {
    route: 'DELETE /api/sessions/:stageId/files/:fileId',
    input: z.object({ ...onStage, fileId: z.uuid() }),
    reply: z.object({ file: DraftFile }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const draftDocs = (): DocsOf<typeof draftCommands> => {
  const { stage, draft } = the;
  const onStage = { stageId: stage.id };

  return {
    get_drafts: {
      tag: 'sessions',
      summary: 'List unsent drafts',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { drafts: [draft] } },
    },
    put_draft: {
      tag: 'sessions',
      summary: 'Save a draft',
      description:
        '`key` is `message`, or the id of a request. A value of null removes it. The value of `message` is `{text, messageId}`, with the id that its message will have: the server removes the draft as it takes that message. If it has that message already, it stores nothing and returns its text (`sent`).',
      problems: ['unknown_stage'],
      example: { input: { ...onStage, key: draft.key, value: draft.value, writer: null }, reply: { draft } },
    },
    add_draft_file: {
      tag: 'sessions',
      summary: 'Upload a file for the next message',
      description:
        'The draft `files` has the list. The client chooses the id, so that a repeated upload adds the file only once. Name the id in `files` of the message.',
      problems: ['unknown_stage', 'too_many_files', 'bad_file'],
      example: {
        input: { ...onStage, fileId: the.draftFile.fileId, file: the.attachment },
        reply: { file: the.draftFile },
      },
    },
    get_draft_file: {
      tag: 'sessions',
      summary: 'Get a file uploaded for the next message',
      problems: ['unknown_file'],
      example: { input: { ...onStage, fileId: the.draftFile.fileId }, reply: { file: the.attachment } },
    },
    remove_draft_file: {
      tag: 'sessions',
      summary: 'Remove an uploaded file',
      problems: ['unknown_file'],
      example: { input: { ...onStage, fileId: the.draftFile.fileId }, reply: { file: the.draftFile } },
    },
  };
};
