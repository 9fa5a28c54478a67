import type { z } from 'zod';
import type { AgentEvent, TurnEnd } from '../agent/agent-event.ts';
import { refusalOf } from './translate-limits.ts';
import type { ModelUsage, ResultMessage } from './wire/messages.ts';

/**
 * How a turn ended. API failures come as `subtype:"success"` with `is_error:true`, so the flag decides, not the
 * subtype; and an interrupted turn is told by its `terminal_reason`, since its `errors` are diagnostics unfit for people.
 */
export function translateResult(result: z.infer<typeof ResultMessage>): TurnEnd {
  const figures = {
    durationMs: result.duration_ms ?? null,
    costUsd: result.total_cost_usd ?? null,
    tokens: tokensOf(result.modelUsage),
    messageIds: result.user_message_uuids,
    // After a resume, the CLI takes note of tasks that ended with its former process, and calls no model (2.1.330).
    ...(result.origin?.kind === 'task-notification' && result.num_turns === 0 && { isEmpty: true as const }),
    ...(result.deferred_tool_use !== undefined && {
      deferred: { toolUseId: result.deferred_tool_use.id, toolName: result.deferred_tool_use.name },
    }),
    denied: result.permission_denials.flatMap((call) => (call === null ? [] : [call.tool_use_id])),
  };
  const aborted = result.terminal_reason === 'aborted_tools' || result.terminal_reason === 'aborted_streaming';
  if (aborted) return { outcome: 'interrupted', message: null, ...figures };
  if (!isError(result)) return { outcome: 'succeeded', message: null, ...figures };
  if (isLoggedOut(result)) return { outcome: 'failed', message: LOG_IN, code: 'not-logged-in', ...figures };
  const limit = usageLimit(result);
  return { outcome: 'failed', message: failureText(result), ...limit, ...figures };
}

/** Whether the turn failed because a usage limit of the account is reached, and which one, if it tells. */
function usageLimit({ api_error, api_error_params }: z.infer<typeof ResultMessage>): Pick<TurnEnd, 'code' | 'limit'> {
  if (api_error !== 'usage_limit_reached') return {};
  return {
    code: 'usage-limit',
    ...(api_error_params !== undefined && { limit: refusalOf(api_error_params.rate_limit_info) }),
  };
}

const LOG_IN = 'Claude is not logged in on this machine.';

/**
 * Whether the turn failed because this machine has no login, or one that has expired or was revoked (2.1.330: "Not logged in",
 * "Login expired", each with "Please run /login", which does nothing in this mode). A wrong API key is told otherwise.
 */
const isLoggedOut = ({ result }: z.infer<typeof ResultMessage>): boolean =>
  result !== undefined && /\bPlease run \/login\b/.test(result);

/** A result that does not say whether it is one: what else it says tells. */
function isError({ is_error, subtype, terminal_reason, errors }: z.infer<typeof ResultMessage>): boolean {
  if (typeof is_error === 'boolean') return is_error;
  if (terminal_reason != null) return terminal_reason !== 'completed';
  return subtype !== 'success' || (errors?.length ?? 0) > 0;
}

/** Over all models, and like the cost cumulative: the last value counts, a sum of them would not. */
export function tokensOf(modelUsage: z.infer<typeof ModelUsage> | undefined): TurnEnd['tokens'] {
  if (modelUsage === undefined) return null;
  const models = Object.values(modelUsage);
  const sum = (key: keyof (typeof models)[number]) => models.reduce((total, model) => total + model[key], 0);
  return {
    input: sum('inputTokens'),
    output: sum('outputTokens'),
    cacheRead: sum('cacheReadInputTokens'),
    cacheCreation: sum('cacheCreationInputTokens'),
  };
}

function failureText({ subtype, result, errors }: z.infer<typeof ResultMessage>): string {
  switch (subtype) {
    case 'error_max_turns':
      return 'Claude reached the limit of steps for one message. Send a message to continue.';
    case 'error_max_budget_usd':
      return 'The budget of this session is used up.';
    default:
      return result || errors?.join('\n') || 'Claude ended the turn with an error and gave no reason.';
  }
}

/** The end of a background task that Claude was told of: in this turn, or as its beginning. */
export const reported = (origin: { kind: string; runId?: string | undefined } | undefined): AgentEvent[] =>
  origin?.kind === 'task-notification' && origin.runId !== undefined
    ? [{ type: 'task-reported', runId: origin.runId }]
    : [];
