import type { ApproveBody, PendingRequest } from '@callboard/contract';
import { forSession, type KeptRule, keepableRules } from '../../agent/permission-updates.ts';
import type { Answer, RequestKindDefinition } from './definition.ts';

// What the kinds that the CLI asks with `can_use_tool` have in common.

/**
 * Runs the call. A bare allow runs the original input; `updatedInput` is sent only if a person changed it.
 * @param updates go to the session alone, whatever destination they name
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

/** Keeps the allow rules and folders that were granted with a yes. */
export const keepGranted = (_request: PendingRequest, { updatedPermissions = [] }: ApproveBody): KeptRule[] =>
  keepableRules(updatedPermissions);

/** Keeps nothing beyond the session. */
export const keepNothing = (): KeptRule[] => [];

/** The reason, word for word; without one, that there was none. */
export const plainDenial = (reason: string | null): string => reason ?? 'The user said no to this and gave no reason.';

/** `message` must be there: without it the model reads of an invalid permission result. */
export const declineCall: RequestKindDefinition['decline'] = (message, more) => ({
  behavior: 'deny',
  message,
  ...more,
});

/** An input, for a message to Claude. */
export const inputBlock = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
