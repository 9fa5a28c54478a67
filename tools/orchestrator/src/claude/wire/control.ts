import { RequestId } from '@callboard/contract';
import { z } from 'zod';
import { ModelUsage } from './messages.ts';

/**
 * The control protocol: what the CLI asks its host, and what it answers. Seen with CLI 2.1.212 to 2.1.330; unknown keys are
 * ignored. The messages that it prints beside these are in `messages.ts`.
 */

const text = z.string();
/** Anything but a string counts as missing. */
const optionalText = text.optional().catch(undefined);

/** A request is refused unseen only if it lacks what a person needs to decide, or what the answer needs to arrive. */
export const CanUseTool = z.object({
  tool_name: text,
  display_name: optionalText,
  input: z.record(z.string(), z.unknown()),
  description: text.nullish().catch(null),
  /** Without it the request is not linked to its call in the transcript. */
  tool_use_id: text.catch(''),
  agent_id: text.nullish().catch(null),
  decision_reason: text.nullish().catch(null),
  /** Seen: `other`, `mode`, `hook`, `workingDir`, `safetyCheck`, `subcommandResults`, `sandboxOverride`. */
  decision_reason_type: text.nullish().catch(null),
  blocked_path: text.nullish().catch(null),
  /** A suggestion that cannot be parsed is omitted; the others can still be chosen. */
  permission_suggestions: z
    .array(z.looseObject({ type: text }).or(z.unknown().transform(() => null)))
    .nullish()
    .catch(null),
  suppress_always_allow_rule: z.boolean().nullish().catch(null),
});

/** What every request for permission has, whatever its name: a tool, and the input to run it with. */
export const PermissionLike = z.object({ tool_name: text, input: z.record(z.string(), z.unknown()) });

/** A control response that cannot be matched to a request: the requester gave no id, or one that Callboard never uses. */
export const UnclaimedReply = z.object({ type: z.literal('control_response'), response: z.object({ subtype: text }) });

/**
 * The reply to `initialize`: beside the response proper stand the open requests, whole, as they were sent. A missing list is
 * empty: until 2.1.267 the CLI omitted it when nothing was open.
 */
export const Initialized = z.object({
  pending_permission_requests: z
    .array(
      // Even a request that cannot be parsed must be answered, as far as possible.
      z
        .looseObject({ request_id: RequestId, request: z.looseObject({ subtype: text }) })
        .or(z.looseObject({ request_id: RequestId, request: z.undefined().catch(undefined) }))
        .or(z.unknown().transform((raw) => ({ request_id: null, request: undefined, raw }))),
    )
    .or(z.unknown().transform((raw) => [{ request_id: null, request: undefined, raw }]))
    .default([]),
  response: z
    .object({ current_permission_mode: optionalText, session_state: optionalText })
    .optional()
    .catch(undefined),
});

/** Fields that every reply to `initialize` has had so far, and no other reply has. */
export const InitializedMark = z.union([
  z.object({ pending_permission_requests: z.unknown().refine((value) => value !== undefined) }),
  z.object({ response: z.object({ commands: z.array(z.unknown()), agents: z.array(z.unknown()) }) }),
  z.object({ response: z.object({ commands: z.array(z.unknown()), models: z.array(z.unknown()) }) }),
  z.object({ response: z.object({ models: z.array(z.unknown()), agents: z.array(z.unknown()) }) }),
  z.object({ response: z.object({ account: z.unknown(), pid: z.number() }) }),
]);

/** The same reply, as far as it says what the process is doing. */
export const InitializedState = z.object({
  response: z.object({ session_state: optionalText }).catch({ session_state: undefined }),
});

/** Anything but a list counts as an empty one. */
const listOf = <T extends z.ZodType>(schema: T) => z.array(schema).catch([]);
const orNull = <T extends z.ZodType>(schema: T) => schema.or(z.unknown().transform(() => null));

/** In the reply to `initialize`: the slash commands and the models. An item that cannot be parsed is null. */
export const Offer = z.object({
  response: z.object({
    commands: listOf(
      orNull(
        z.object({
          name: text,
          description: text.catch(''),
          argumentHint: text.catch(''),
          aliases: z.array(text).catch([]),
          /** Missing for those of the repository, the user or a plugin. */
          builtin: z.boolean().catch(false),
        }),
      ),
    ),
    models: listOf(
      orNull(
        z.object({
          value: text,
          resolvedModel: optionalText,
          displayName: optionalText,
          description: text.catch(''),
          supportsEffort: z.boolean().catch(false),
          supportedEffortLevels: z.array(text).catch([]),
        }),
      ),
    ),
  }),
});

/** The reply to `get_usage`, as far as it is used: the cost and the tokens from which the process counts on. */
export const UsageReply = z.object({
  response: z.object({
    session: z.object({ total_cost_usd: z.number(), model_usage: ModelUsage.optional().catch(undefined) }),
  }),
});

const UsageWindow = z.object({
  /** In percent. */
  utilization: z.number().nullable(),
  resets_at: z.iso
    .datetime({ offset: true })
    .transform((at) => new Date(at).toISOString())
    .nullable()
    .catch(null),
});

/** The reply to `get_usage` with a claude.ai login: the windows of its usage limits by name, from the schema, not seen (2.1.330). */
export const UsageLimitsReply = z.object({
  response: z.object({ rate_limits: z.record(text, UsageWindow.nullish().catch(undefined)) }),
});

/** The reply to `get_session_cost`: its text begins with the estimate so far, such as "Estimated cost:  $0.0601" (2.1.330). */
export const SessionCostReply = z.object({
  response: z.object({
    text: z
      .string()
      .transform((lines) => Number(/^(?:Estimated|Total) cost: +\$([\d.]+)/m.exec(lines)?.[1] ?? Number.NaN))
      .pipe(z.number()),
  }),
});

/** The reply to `get_context_usage`, as far as it is shown. */
export const ContextUsageReply = z.object({
  response: z.object({ totalTokens: z.number(), maxTokens: z.number(), percentage: z.number() }),
});

/** The reply to `get_task_output`: the last 8 kB. */
export const TaskOutputReply = z.object({
  response: z.object({ output: text, total_bytes: z.number().catch(0), truncated: z.boolean().catch(false) }),
});
/** The reply to `mcp_status`. `config` holds secrets (headers, addresses) and is ignored. */
export const McpStatusReply = z.object({
  response: z.object({
    mcpServers: z.array(
      z.object({
        name: text,
        status: text.catch('unknown'),
        error: text.nullish().catch(null),
        scope: text.nullish().catch(null),
        tools: z.array(z.unknown()).nullish().catch(null),
      }),
    ),
  }),
});
