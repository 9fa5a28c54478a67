import { z } from 'zod';
import { AnswerBody, AnswerReply, ApproveBody, Decision, DecisionFilter, PendingRequest } from './approvals.ts';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { RequestId, StageId } from './ids.ts';
import { SendMessageReply } from './messages.ts';
import { Later, Me, MePatch } from './people.ts';

const onStage = { stageId: StageId };
const ofRequest = z.object({ ...onStage, requestId: RequestId });

export const requestCommands = {
  get_pending: {
    route: 'GET /api/pending',
    runs: 'store',
    time: 'read',
    input: z.object({ stageId: StageId.optional() }),
    /** `later`: which of them the person who asks set aside. */
    reply: z.object({ pending: z.array(PendingRequest), later: z.array(Later).default([]) }),
    query: z.strictObject({ stageId: StageId.optional() }),
  },
  get_decisions: {
    route: 'GET /api/decisions',
    runs: 'store',
    time: 'read',
    input: DecisionFilter,
    /** Decisions, newest first. Pass `next` as `before` to get the following page; null at the end. */
    reply: z.object({ decisions: z.array(Decision), next: z.string().nullable() }),
  },
  /**
   * Sets a request aside for the person who sends this, on all their devices, until it is decided: until an instant, or
   * without `until` for good. `until: null` takes that back.
   */
  set_later: {
    route: 'PUT /api/pending/:requestId/later',
    runs: 'store',
    input: z.object({ requestId: RequestId, stageId: StageId.optional(), until: z.iso.datetime().nullish() }),
    reply: z.object({ later: Later.nullable() }),
    isBodyOptional: true,
  },
  /** Changes the settings of the person who sends this. */
  update_me: { route: 'PATCH /api/me', runs: 'store', input: MePatch, reply: z.object({ me: Me }) },
  approve_tool: {
    route: 'POST /api/sessions/:stageId/approve',
    runs: 'store',
    input: ApproveBody.extend(onStage),
    reply: AnswerReply,
    status: 'held',
  },
  answer_question: {
    route: 'POST /api/sessions/:stageId/answer',
    runs: 'store',
    input: AnswerBody.extend(onStage),
    reply: AnswerReply,
    status: 'held',
  },
  /** Takes back an answer of the person who sends this that is still held back. The request is open then, as before. */
  take_back_answer: {
    route: 'DELETE /api/pending/:requestId/answer',
    runs: 'store',
    input: z.object({ requestId: RequestId, stageId: StageId.optional() }),
    reply: z.object({ request: PendingRequest }),
    isBodyOptional: true,
  },
  /** Records that nobody knows whether an answer took effect. Sends nothing. */
  dismiss_decision: {
    route: 'POST /api/sessions/:stageId/decisions/:requestId/dismiss',
    runs: 'store',
    input: ofRequest,
    reply: z.object({ decision: Decision }),
  },
  /** Sends Claude a message with the decision, which it may not have received. Resumes an ended session for it. */
  retry_decision: {
    route: 'POST /api/sessions/:stageId/decisions/:requestId/retry',
    runs: 'owner',
    input: ofRequest,
    reply: z.object({ decision: Decision, message: SendMessageReply }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const requestDocs = (): DocsOf<typeof requestCommands> => {
  const { stage, pending, queued } = the;
  const onStage = { stageId: stage.id };
  const ANSWER_PROBLEMS = [
    'unknown_stage',
    'unknown_request',
    'already_decided',
    'request_closed',
    'answer_held',
    'wrong_kind',
    'no_session',
  ] as const;

  return {
    get_pending: {
      tag: 'board',
      summary: 'List pending requests',
      problems: ['unknown_stage'],
      example: { input: {}, reply: { pending: [pending], later: [] } },
    },
    get_decisions: {
      tag: 'requests',
      summary: 'List decisions, newest first',
      description:
        'In pages of at most 1000: pass `next` as `before` to get the next page; it is null at the end. With `format=csv` (or `Accept: text/csv`) or `format=jsonl`, returns the whole log, or the newest `limit` decisions, as a file; if the connection breaks off, the file is incomplete.',
      example: { input: { ...onStage, limit: 1 }, reply: { decisions: [the.decision], next: the.decision.at } },
    },
    set_later: {
      tag: 'requests',
      summary: 'Set a request aside',
      description:
        'For the person who sends this, on all their devices, until the request is decided: until the instant `until`, or without one until that is taken back with `until: null`. The request stays open, in the inbox and in `get_pending`, whose `later` lists what this person set aside. It calls again at `until`, also after a restart. `stageId` is needed only if two stages have a request of that id.',
      problems: ['unknown_request'],
      example: {
        input: { requestId: pending.requestId, until: the.me.later[0]?.until },
        reply: { later: the.me.later[0] ?? null },
      },
    },
    update_me: {
      tag: 'requests',
      summary: 'Change your settings',
      description:
        '`presentation` is how requests present themselves to the person who sends this: `overlay`, `panel` or `quiet`. `alerts` is what is signalled to them, and how, with their quiet hours. What is left out stays. The board has the current settings as `me`.',
      example: { input: { presentation: 'panel' }, reply: { me: the.me } },
    },
    approve_tool: {
      tag: 'requests',
      summary: 'Allow or deny a request',
      description:
        'The first answer wins; later ones are refused with the decision that stands. `updatedInput` replaces the whole input of the call. The rules of `updatedPermissions` are kept for the stage, or with `remember` for its project. `hosts` lets a command reach hosts that its request names, while it runs. `deny` declines a question or a form. With `hold`, the answer is kept back for two seconds, over restarts as well, and sent once at `heldUntil` unless it was taken back; until then every other answer is refused with `answer_held`.',
      problems: ANSWER_PROBLEMS,
      example: {
        input: { ...onStage, requestId: pending.requestId, decision: 'allow' },
        reply: { decision: the.decision },
      },
    },
    answer_question: {
      tag: 'requests',
      summary: 'Answer the questions of a request',
      description:
        'The keys are exactly the texts of its questions; several labels are joined by ", ". The first answer wins. `hold` is as for an approval.',
      problems: ANSWER_PROBLEMS,
      example: {
        input: { ...onStage, requestId: pending.requestId, answers: { 'Which database?': 'SQLite, PostgreSQL' } },
        reply: {
          decision: {
            ...the.decision,
            kind: 'question',
            toolName: 'AskUserQuestion',
            outcome: 'answered',
            answers: { 'Which database?': 'SQLite, PostgreSQL' },
          },
        },
      },
    },
    take_back_answer: {
      tag: 'requests',
      summary: 'Take back an answer that is held back',
      description:
        'An answer given with `hold`, by the person who gave it, until it is sent. The request is open then, as before; where nothing is held back, it is returned as it is. `stageId` is needed only if two stages have a request of that id.',
      problems: ['unknown_request', 'answer_held', 'already_decided', 'request_closed'],
      example: { input: { ...onStage, requestId: pending.requestId }, reply: { request: pending } },
    },
    dismiss_decision: {
      tag: 'requests',
      summary: 'Dismiss an unconfirmed answer',
      description:
        'For a decision with the delivery `unknown`: the process ended before it confirmed the answer. Nothing is sent; the stage no longer needs a person because of it. A repeated call changes nothing.',
      problems: ['unknown_stage', 'unknown_request', 'nothing_to_settle', 'already_settled'],
      example: { input: { ...onStage, requestId: pending.requestId }, reply: { decision: the.dismissed } },
    },
    retry_decision: {
      tag: 'requests',
      summary: 'Tell Claude about an unconfirmed answer',
      description:
        'For a decision with the delivery `unknown`. Sends a message that says what was decided for which call, that it may not have arrived, and to check before repeating it; resumes the session if it has ended. `status` says how the message was delivered. It allows nothing: the tool asks again.',
      problems: ['unknown_stage', 'unknown_request', 'nothing_to_settle', 'already_settled', 'already_done'],
      example: {
        input: { ...onStage, requestId: pending.requestId },
        reply: { decision: the.retried, message: { status: 'resumed', messageId: queued.messageId } },
      },
    },
  };
};
