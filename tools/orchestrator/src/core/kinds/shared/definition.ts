import { isDeepStrictEqual } from 'node:util';
import {
  type AnswerBody,
  type ApproveBody,
  type Decision,
  type PendingRequest,
  PermissionMode,
  type PermissionRule,
  type PermissionUpdate,
  type ToolInput,
} from '@callboard/contract';
import { z } from 'zod';
import type { Ask } from '../../agent-event.ts';

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

const filled = z.string().min(1);
const rules = {
  behavior: z.enum(['allow', 'deny', 'ask']),
  rules: z.array(z.looseObject({ toolName: filled, ruleContent: z.string().optional() })).min(1),
};
const directories = z.array(filled).min(1);

/**
 * The permission updates that the CLI takes with an answer (2.1.330). It ignores any other silently, so a person would believe that
 * something was granted; those are refused before they are sent.
 */
const KnownUpdate = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('addRules'), ...rules }),
  z.looseObject({ type: z.literal('replaceRules'), ...rules }),
  z.looseObject({ type: z.literal('removeRules'), ...rules }),
  z.looseObject({ type: z.literal('addDirectories'), directories }),
  z.looseObject({ type: z.literal('removeDirectories'), directories }),
  z.looseObject({
    type: z.literal('setMode'),
    mode: PermissionMode.exclude(['bypassPermissions'], {
      error: ({ input }) =>
        input === 'bypassPermissions'
          ? 'Claude Code does not accept bypassPermissions in an answer; change the mode of the session instead'
          : `Invalid option: expected one of ${PermissionMode.exclude(['bypassPermissions']).options.join(', ')}`,
    }),
  }),
]);

/** What is wrong with the updates, in words; null when nothing is. An update that the CLI suggested itself may have any shape. */
export function permissionUpdatesProblem(
  updates: readonly PermissionUpdate[],
  suggestions: readonly PermissionUpdate[],
): string | null {
  const wrong = updates.flatMap((update, index) => {
    if (suggestions.some((suggestion) => isDeepStrictEqual(suggestion, update))) return [];
    const parsed = KnownUpdate.safeParse(update);
    return parsed.success ? [] : [`updatedPermissions[${index}]:\n${z.prettifyError(parsed.error)}`];
  });
  return wrong.length === 0
    ? null
    : `Claude Code would ignore this, so nothing was sent. Fix it or leave it out. ${wrong.join('\n')}`;
}

/** The updates that can be kept, in the CLI's own shapes (seen with 2.1.330). */
const AllowRules = z.looseObject({
  type: z.literal('addRules'),
  behavior: z.literal('allow'),
  rules: z.array(z.looseObject({ toolName: z.string(), ruleContent: z.string().optional() })),
});
const Directories = z.looseObject({ type: z.literal('addDirectories'), directories: z.array(z.string()) });

/** A rule that outlives the session it was granted in. */
export type SavedRule = Pick<PermissionRule, 'kind' | 'rule'>;

/** The allow rules and readable folders in these updates, which can be kept beyond the session. A mode cannot. */
export function savableRules(updates: readonly PermissionUpdate[]): SavedRule[] {
  return updates.flatMap((update): SavedRule[] => {
    const allow = AllowRules.safeParse(update);
    if (allow.success) {
      return allow.data.rules.map(({ toolName, ruleContent }) => ({
        kind: 'allow',
        rule: ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
      }));
    }
    const folders = Directories.safeParse(update);
    return folders.success ? folders.data.directories.map((rule) => ({ kind: 'directory', rule })) : [];
  });
}

/**
 * Sends each update to the session alone, whatever destination the CLI suggested: any other would be written into the worktree, be
 * committed with it, and vanish with it. Callboard itself keeps the rules that are to last.
 */
const forSession = (updates: readonly PermissionUpdate[]): PermissionUpdate[] =>
  updates.map((update) => ({ ...update, destination: 'session' }));

// Shared by the kinds whose requests arrive as `can_use_tool`.

/**
 * Returns the answer that runs the call. A bare allow runs the original input; `updatedInput` is sent only if a person changed it.
 * @param updates apply to the session only, whatever destination they name
 */
export function allowCall(
  { updatedInput }: Pick<ApproveBody, 'updatedInput'>,
  updates: ApproveBody['updatedPermissions'],
): Answer {
  const response: Record<string, unknown> = { behavior: 'allow' };
  if (updatedInput !== undefined) response.updatedInput = updatedInput;
  if (updates !== undefined) response.updatedPermissions = forSession(updates);
  return { verdict: { outcome: 'allowed', reason: null, answers: null, updatedInput: updatedInput ?? null }, response };
}

/** Keeps the allow rules and folders that were granted along with the call. */
export const saveGranted = (_request: PendingRequest, { updatedPermissions = [] }: ApproveBody): SavedRule[] =>
  savableRules(updatedPermissions);

/** Keeps no rule beyond the session. */
export const saveNothing = (): SavedRule[] => [];

/** Returns the reason word for word, or a sentence that says there was none. */
export const plainDenial = (reason: string | null): string => reason ?? 'The user said no to this and gave no reason.';

/** `message` is required: without it, the CLI tells the model that the permission result is invalid. */
export const declineCall: RequestKindDefinition['decline'] = (message, more) => ({
  behavior: 'deny',
  message,
  ...more,
});

/** Returns an input as a JSON code block for a message to Claude. */
export const inputBlock = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
