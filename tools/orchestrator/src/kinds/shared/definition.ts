import type { AnswerBody, ApproveBody, Decision, PendingRequest, ToolInput } from '@callboard/contract';
import type { Ask } from '../../agent/agent-event.ts';
import type { KeptRule } from '../../agent/permission-updates.ts';

/** A control request of the CLI, as it was printed. */
export type ControlRequest = Readonly<Record<string, unknown>> & { readonly subtype: string };

/**
 * Which control requests are of a kind: permission requests (`can_use_tool`) for one tool, or requests of a subtype of their own.
 * `approval` has the permission requests for all tools that no kind claims.
 */
type Recognition =
  | { by: 'tool'; toolName: string }
  | { by: 'no-other-kind' }
  /** `read` returns null for a request that a person could not decide on, or that could not be answered; it is refused at once. */
  | { by: 'subtype'; subtype: string; read: (request: ControlRequest) => Ask | null };

/** What an answer records, and what it responds to the CLI (shapes as seen with 2.1.330). */
export interface Answer {
  verdict: Pick<Decision, 'outcome' | 'reason' | 'answers' | 'updatedInput'>;
  response: Record<string, unknown>;
}

/** What Claude is told of an answer when nobody knows whether it arrived. */
interface RetryWords {
  /** Names the request: "your plan". */
  call: (request: PendingRequest) => string;
  /** "The plan was accepted." */
  allowed: (request: PendingRequest, updatedInput: ToolInput | null) => string;
  /** "It was declined." */
  denied: (request: PendingRequest) => string;
  /** What to do after a yes. */
  next: string;
}

/**
 * Everything the orchestrator knows about one kind of request. A file `kinds/<kind>.ts` exports one, named after the file in camel
 * case; `scripts/write-kinds.ts` collects them in `kinds/registry.ts`.
 */
export interface RequestKindDefinition {
  recognise: Recognition;
  /** When `<kind>-requested` is sent, for `docs/events.md`. */
  eventMeaning: string;
  /** Whether the CLI lists an open request again in its reply to `initialize`. If so, one that is missing there is closed. */
  isListedOnInitialize: boolean;
  /**
   * Whether a command in the sandbox asks, and the CLI does not say which. The request then carries the commands that ran when it was
   * made, and is closed when they have ended.
   */
  isAskedByCommand: boolean;
  /** What is asked for, in one line for the decision log. Paths inside the worktree are shown relative to it. */
  describe: (request: PendingRequest, worktree: string | null) => string;
  /** A yes (`approve_tool` with `allow`). Null where only answers count. @throws Rejection `bad_request` */
  allow: ((request: PendingRequest, body: ApproveBody) => Answer) | null;
  /** Answers to questions (`answer_question`). Null where there are no questions. @throws Rejection `bad_request` */
  answer: ((request: PendingRequest, body: AnswerBody) => Answer) | null;
  /** The rules that outlive the session after this yes. */
  keeps: (request: PendingRequest, body: ApproveBody) => KeptRule[];
  /** What the model reads after a person's no. @param reason what the person wrote */
  denialMessage: (reason: string | null) => string;
  /** The response for a no, whoever says it. @param more further fields, where the shape has room for them */
  decline: (message: string, more?: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  retry: RetryWords;
}
