import type { AnswerBody, ApproveBody, Decision, PendingRequest, ToolInput } from '@callboard/contract';
import type { Ask } from '../../agent/agent-event.ts';
import type { SavedRule } from '../../agent/permission-updates.ts';

/** A control request as the CLI printed it. */
export type ControlRequest = Readonly<Record<string, unknown>> & { readonly subtype: string };

/**
 * Which control requests belong to a kind: permission requests (`can_use_tool`) for one tool, or requests with their own subtype.
 * `approval` covers the permission requests of all tools that no other kind claims.
 */
type Recognition =
  | { by: 'tool'; toolName: string }
  | { by: 'no-other-kind' }
  /** `read` returns null if a person could not decide on the request, or if it could not be answered. It is refused at once then. */
  | { by: 'subtype'; subtype: string; read: (request: ControlRequest) => Ask | null };

/** An answer: the verdict to record and the response to the CLI (shapes as seen with 2.1.330). */
export interface Answer {
  verdict: Pick<Decision, 'outcome' | 'reason' | 'answers' | 'updatedInput'>;
  response: Record<string, unknown>;
}

/** The words of the message to Claude about an answer that may not have arrived. */
interface RetryText {
  /** Names the request: "your plan". */
  call: (request: PendingRequest) => string;
  /** "The plan was accepted." */
  allowed: (request: PendingRequest, updatedInput: ToolInput | null) => string;
  /** "It was declined." */
  denied: (request: PendingRequest) => string;
  /** What Claude should do if the request was allowed or answered. */
  next: string;
}

/**
 * Everything the orchestrator knows about one kind of request. Each file `kinds/<kind>.ts` exports one, named after the file in camel
 * case; `scripts/write-kinds.ts` collects them in `kinds/registry.ts`.
 */
export interface RequestKindDefinition {
  recognise: Recognition;
  /** When `<kind>-requested` is sent, for `docs/reference.md`. */
  eventMeaning: string;
  /** Whether the CLI repeats open requests in its reply to `initialize`. If so, a request that is missing there is closed. */
  isListedOnInitialize: boolean;
  /**
   * Whether a sandboxed command asks and the CLI does not say which. The request then carries the commands that ran when it was
   * made, and is closed once they have ended.
   */
  isAskedByCommand: boolean;
  /** Describes the request in one line for the decision log. Paths inside the worktree are relative to it. */
  describe: (request: PendingRequest, worktree: string | null) => string;
  /** Allows it (`approve_tool` with `allow`). Null if the kind only accepts answers. @throws Rejection `bad_request` */
  allow: ((request: PendingRequest, body: ApproveBody) => Answer) | null;
  /** Answers its questions (`answer_question`). Null if the kind has no questions. @throws Rejection `bad_request` */
  answer: ((request: PendingRequest, body: AnswerBody) => Answer) | null;
  /** Returns the rules that outlive the session once this request is allowed. */
  saves: (request: PendingRequest, body: ApproveBody) => SavedRule[];
  /** Returns the text that the model reads after a person's denial. @param reason the person's words, if any */
  denialMessage: (reason: string | null) => string;
  /** Returns the response for a denial, whoever gave it. @param more further fields, if the response's shape allows them */
  decline: (message: string, more?: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  retry: RetryText;
}
