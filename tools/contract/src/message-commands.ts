import { z } from 'zod';
import { type CommandDefinitions, type DocsOf, MESSAGE_BODY_LIMIT } from './command.ts';
import * as the from './examples.ts';
import { MessageId, StageId } from './ids.ts';
import {
  AttachedFile,
  Attachment,
  Draft,
  FILES_KEY,
  MessageBody,
  MessagePatch,
  QueuedMessage,
  SendMessageReply,
} from './messages.ts';
import { SessionView } from './session-commands.ts';

const onStage = { stageId: StageId };

export const messageCommands = {
  send_message: {
    route: 'POST /api/sessions/:stageId/message',
    runs: 'start',
    time: 'slow',
    input: MessageBody.extend(onStage),
    reply: SendMessageReply,
    bodyLimit: MESSAGE_BODY_LIMIT,
  },
  get_queue: {
    route: 'GET /api/sessions/:stageId/queue',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ queue: z.array(QueuedMessage), held: z.boolean() }),
  },
  edit_queued: {
    route: 'PATCH /api/sessions/:stageId/queue/:messageId',
    body: 'patch',
    runs: 'store',
    input: z.object({ ...onStage, messageId: MessageId, patch: MessagePatch }),
    reply: z.object({ message: QueuedMessage }),
  },
  /** Releases a queue that is held after a failed or interrupted turn. */
  release_queue: {
    route: 'POST /api/sessions/:stageId/queue/release',
    runs: 'owner',
    input: z.object(onStage),
    reply: z.object({ session: SessionView }),
  },
  /** Sends a queued message: into the running turn (`steer`), or at once by interrupting it (`now`). */
  send_queued: {
    route: 'POST /api/sessions/:stageId/queue/:messageId/send',
    runs: 'owner',
    time: 'slow',
    input: z.object({ ...onStage, messageId: MessageId, mode: z.enum(['steer', 'now']) }),
    reply: SendMessageReply,
  },
  remove_queued: {
    route: 'DELETE /api/sessions/:stageId/queue/:messageId',
    runs: 'store',
    input: z.object({ ...onStage, messageId: MessageId }),
    reply: z.object({ message: QueuedMessage }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const messageDocs = (): DocsOf<typeof messageCommands> => {
  const { stage, queued } = the;
  const onStage = { stageId: stage.id };
  const onMessage = { ...onStage, messageId: queued.messageId };

  return {
    send_message: {
      tag: 'sessions',
      summary: 'Send a message',
      description:
        'While Claude works: `append` (the default) adds the message to the queue. `replace` replaces all queued messages, returns their texts and keeps them, files included, as drafts `replaced:<id>` (sending one under that `messageId` removes the draft). `steer` writes the message into the running turn. `now` interrupts the turn (the reply comes after the interruption, or after two seconds as `queued`). A message resumes a session that has ended and reopens a stage that is done (`reopened`); under alarm it waits in the queue. An accepted message is never lost. The body may have 25 MB, attachments included.',
      problems: ['unknown_stage', 'unknown_file', 'no_session', 'message_id_reused', 'claude_missing', 'bad_file'],
      example: {
        input: { ...onStage, message: queued.text, mode: 'append' },
        reply: { status: 'queued', messageId: queued.messageId },
      },
    },
    get_queue: {
      tag: 'queue',
      summary: 'List queued messages',
      description: '`held`: after a failed or interrupted turn, they wait for a person.',
      problems: ['unknown_stage', 'no_session'],
      example: { input: onStage, reply: { queue: [queued], held: false } },
    },
    edit_queued: {
      tag: 'queue',
      summary: 'Change the text or the place of a queued message',
      description: 'Place 0 is sent next.',
      problems: ['unknown_stage', 'no_session', 'unknown_message', 'already_sent'],
      example: { input: { ...onMessage, patch: { message: queued.text, place: 0 } }, reply: { message: queued } },
    },
    release_queue: {
      tag: 'queue',
      summary: 'Release a held queue',
      description: 'After a failed or interrupted turn, queued messages are held until they are released.',
      problems: ['unknown_stage', 'no_session', 'session_alarm'],
      example: { input: onStage, reply: { session: the.session } },
    },
    send_queued: {
      tag: 'queue',
      summary: 'Send a queued message',
      description: '`steer` writes it into the running turn; `now` interrupts the turn and sends it at once.',
      problems: [
        'unknown_stage',
        'no_session',
        'session_alarm',
        'unknown_message',
        'already_sent',
        'not_running',
        'refused_by_claude',
      ],
      example: { input: { ...onMessage, mode: 'now' }, reply: { status: 'sent', messageId: queued.messageId } },
    },
    remove_queued: {
      tag: 'queue',
      summary: 'Remove a queued message',
      description: 'Returns the removed message.',
      problems: ['unknown_stage', 'no_session', 'unknown_message', 'already_sent'],
      example: { input: onMessage, reply: { message: queued } },
    },
  };
};

const DraftToPut = Draft.omit({ updatedAt: true }).extend({
  key: Draft.shape.key.refine((key) => key !== FILES_KEY, 'is managed by the server; add or remove files instead'),
});

/** What was begun to write for a stage, with the files of its next message. */
export const draftCommands = {
  get_drafts: {
    route: 'GET /api/sessions/:stageId/drafts',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ drafts: z.array(Draft) }),
  },
  put_draft: {
    route: 'POST /api/sessions/:stageId/drafts',
    runs: 'store',
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
    runs: 'store',
    input: z.object({ ...onStage, fileId: z.uuid(), file: Attachment }),
    reply: z.object({ file: AttachedFile }),
    bodyLimit: MESSAGE_BODY_LIMIT,
  },
  get_draft_file: {
    route: 'GET /api/sessions/:stageId/files/:fileId',
    runs: 'store',
    input: z.object({ ...onStage, fileId: z.uuid() }),
    reply: z.object({ file: Attachment }),
  },
  remove_draft_file: {
    route: 'DELETE /api/sessions/:stageId/files/:fileId',
    runs: 'store',
    input: z.object({ ...onStage, fileId: z.uuid() }),
    reply: z.object({ file: AttachedFile }),
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
