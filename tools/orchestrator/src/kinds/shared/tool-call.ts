import type { ApproveBody, PendingRequest } from '@callboard/contract';
import { forSession, type SavedRule, savableRules } from '../../agent/permission-updates.ts';
import type { Answer, RequestKindDefinition } from './definition.ts';

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
