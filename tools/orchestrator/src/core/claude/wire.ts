import { McpState, RequestId } from '@callboard/contract';
import { z } from 'zod';

/**
 * The messages that the CLI prints, as far as Callboard uses them: the transcript, the end of a turn, and notices. Seen with
 * CLI 2.1.212 to 2.1.330. Unknown keys are ignored. A missing or changed field gets a default where one makes sense (a
 * missing list is empty); a message that means nothing without the field is shown raw. What the CLI asks and answers
 * follows below.
 */

const text = z.string();
/** Anything but a string counts as missing. */
const optionalText = text.optional().catch(undefined);
const parent = { parent_tool_use_id: text.nullish().catch(null) };
const block = z.looseObject({ type: text.catch('') }).catch({ type: '' });

export const AssistantMessage = z.object({
  ...parent,
  uuid: optionalText,
  message: z.object({
    id: text.catch(''),
    content: z.array(block).or(text.transform((said) => [{ type: 'text', text: said }])),
  }),
  /** The CLI prints an API failure as if the model had said it, and again in the result. */
  error: z.unknown().optional(),
});

export const TextBlock = z.object({ type: z.literal('text'), text });
export const ThinkingBlock = z.object({ type: z.literal('thinking'), thinking: text });
export const ToolUseBlock = z.object({
  type: z.literal('tool_use'),
  id: text,
  name: text,
  input: z.record(z.string(), z.unknown()).catch({}),
});

/** How one tool call of a user message came to run, or not to run. */
const ToolResultMeta = z.object({
  id: text,
  permission_decision: z
    .object({ decision: text, source: text, reason_type: optionalText })
    .optional()
    .catch(undefined),
  /** Why a call did not run. Seen: `permission-rule`, `user-rejected`, `automode-unavailable`. */
  non_execution_kind: optionalText,
  /** What would help a failed call. Seen with the kind `sandbox_violation`. */
  remedy: z.object({ kind: text }).optional().catch(undefined),
});
const NO_META = { id: '', permission_decision: undefined, non_execution_kind: undefined, remedy: undefined };

export const UserMessage = z.object({
  ...parent,
  message: z.object({ content: z.union([text, z.array(block)]) }),
  uuid: optionalText,
  isReplay: z.boolean().optional().catch(undefined),
  /**
   * The author of the text. The CLI reserves `task-notification`: a message that claims it loses it (tried). With `peer`, another
   * session, the name and the text of that session stand beside it.
   */
  origin: z
    .object({ kind: text, name: optionalText, from: optionalText, body: optionalText, runId: optionalText })
    .optional()
    .catch(undefined),
  tool_use_result: z.unknown().optional(),
  /** Who allowed each tool to run. Seen: `user_temporary`, `user_permanent`, `user_reject`, `config`, `hook`. */
  tool_result_meta: z
    .array(ToolResultMeta.or(z.unknown().transform(() => NO_META)))
    .optional()
    .catch(undefined),
});
/** `tool_use_result` of TaskCreate (and TaskGet), and of TaskList. */
export const TaskResult = z.object({ task: z.object({ id: text, subject: text }) });
export const TaskListResult = z.object({
  tasks: z.array(z.object({ id: text, subject: text, status: z.enum(['pending', 'in_progress', 'completed']) })),
});
/** `tool_use_result` of a Bash command that ran outside of the sandbox (2.1.330). */
export const LeftSandbox = z.object({ dangerouslyDisableSandbox: z.literal(true) });
export const ToolResultBlock = z.object({
  type: z.literal('tool_result'),
  tool_use_id: text,
  content: z
    .union([text, z.array(block)])
    .optional()
    .catch(undefined),
  is_error: z.boolean().nullish().catch(null),
});

/** What each model has used, cumulative like the cost. */
export const ModelUsage = z.record(
  text,
  z.object({
    inputTokens: z.number().catch(0),
    outputTokens: z.number().catch(0),
    cacheReadInputTokens: z.number().catch(0),
    cacheCreationInputTokens: z.number().catch(0),
  }),
);

const UnixSeconds = z
  .int()
  .positive()
  .max(253_402_300_799)
  .transform((seconds) => new Date(seconds * 1000).toISOString());
const limitStatus = z.enum(['allowed', 'allowed_warning', 'rejected']);
const UnifiedWindow = z.object({
  utilization: z.number(),
  resetsAt: UnixSeconds,
  status: limitStatus.optional().catch(undefined),
});

/** The usage limits of the account, with which limit decides (2.1.330). Other windows may come. */
export const RateLimitInfo = z.object({
  status: limitStatus,
  resetsAt: UnixSeconds.optional().catch(undefined),
  rateLimitType: text.optional().catch(undefined),
  utilization: z.number().optional().catch(undefined),
  isUsingOverage: z.boolean().catch(false),
  unifiedWindows: z.record(text, UnifiedWindow.optional().catch(undefined)).catch({}),
});

export const RateLimitEvent = z.object({ rate_limit_info: RateLimitInfo });

/** No field is required: a result that failed to parse would leave its turn running forever. */
export const ResultMessage = z.object({
  subtype: text.catch(''),
  is_error: z.boolean().nullish().catch(null),
  result: optionalText,
  terminal_reason: text.nullish().catch(undefined),
  /** The cause of a failed call: `usage_limit_reached`, for example; `api_error_params` tells which limit (not seen with 2.1.330). */
  api_error: text.nullish().catch(undefined),
  api_error_params: RateLimitEvent.optional().catch(undefined),
  /** Who began the turn: `human`, `task-notification`, missing for a command; `unclassified` for a message that imitates the CLI's own. */
  origin: z.object({ kind: text, runId: optionalText }).optional().catch(undefined),
  duration_ms: z.number().optional().catch(undefined),
  /** The calls of the model, 0 if there was none. */
  num_turns: z.number().optional().catch(undefined),
  total_cost_usd: z.number().optional().catch(undefined),
  errors: z.array(text).optional().catch(undefined),
  /** The messages that the turn worked on. */
  user_message_uuids: z.array(text).catch([]),
  /** With the terminal reason `tool_deferred`: the call that a hook deferred. */
  deferred_tool_use: z
    .object({ id: text, name: text.catch('') })
    .optional()
    .catch(undefined),
  /** Calls that did not run, whoever denied them, a person included. */
  permission_denials: z
    .array(z.object({ tool_use_id: text, tool_name: text.catch('') }).or(z.unknown().transform(() => null)))
    .catch([]),
  modelUsage: ModelUsage.optional().catch(undefined),
});

export const StreamEvent = z.object({
  ...parent,
  api_message_id: text.optional(),
  event: z.object({
    type: text,
    index: z.int().optional(),
    delta: z.object({ type: text.optional(), text: text.optional(), thinking: text.optional() }).optional(),
    /** With `content_block_start`. */
    content_block: z.object({ type: text, name: text.optional() }).optional().catch(undefined),
    /** With `message_delta`: the tokens that the model call has used. */
    usage: z
      .object({
        input_tokens: z.number().default(0),
        output_tokens: z.number().default(0),
        cache_read_input_tokens: z.number().nullish(),
        cache_creation_input_tokens: z.number().nullish(),
      })
      .optional()
      .catch(undefined),
  }),
});

export const Lifecycle = z.object({
  command_uuid: text,
  state: z.enum(['queued', 'started', 'completed', 'cancelled']),
  /** What made Claude Code begin a turn by itself: `schedule_wakeup` (`CronCreate`), `loop_wakeup` (`ScheduleWakeup`). */
  wakeup_source: text.optional().catch(undefined),
});

export const SystemInit = z.object({
  model: text.nullable().catch(null),
  permissionMode: text.nullable().catch(null),
  claude_code_version: text.nullable().catch(null),
  tools: z.array(text).catch([]),
  /** The paths of its memory files; missing in its minimal mode. */
  memory_paths: z.unknown().optional(),
  user_message_uuids: z.array(text).catch([]),
  mcp_servers: z
    .array(z.object({ name: text, status: text }).or(z.unknown().transform(() => null)))
    .nullable()
    .catch(null),
});
/** The state of an MCP server, from the CLI's name for it. */
export const mcpState = (status: string): McpState => McpState.safeParse(status).data ?? 'unknown';

export const SystemStatus = z.object({ permissionMode: text.optional() });
export const TaskStarted = z.object({
  task_id: text,
  tool_use_id: text.nullish().catch(null),
  description: text.catch(''),
  task_type: text.catch('unknown'),
  parent_task_id: text.nullish().catch(null),
});
/** The end of a task. `run_id` names it again where Claude is told of it: in the `origin` of an echo or of a result. */
export const TaskEnded = z.object({
  task_id: text,
  run_id: text.catch(''),
  /** Seen: `completed`, `failed`, and `stopped` for one that was ended on request. Of the last, Claude is told with the next message. */
  status: text.catch(''),
  /** In words. The turn that the end wakes comes behind it. */
  summary: text.catch(''),
});
export const TasksChanged = z.object({
  /** A task that cannot be parsed counts as running all the same. */
  tasks: z
    .array(
      z
        .object({ task_id: text.catch(''), task_type: text.catch('unknown'), description: text.catch('') })
        .or(z.unknown().transform(() => ({ task_id: '', task_type: 'unknown', description: '' }))),
    )
    .default([]),
});
export const ApiRetry = z.object({
  attempt: z.number().nullable().catch(null),
  max_retries: z.number().nullable().catch(null),
  error_status: z.number().nullish().catch(null),
  error: optionalText,
});
/** `informational` has `content`, `notification` has `text`. */
export const Informational = z
  .object({ content: optionalText, text: optionalText, level: optionalText })
  .transform(({ content, text: other, level }) => ({ content: content ?? other ?? '', level }))
  .refine(({ content }) => content !== '');
/** On an `informational` line: the fate of a message (seen: `blocked_by_hook`). */
export const PromptBlocked = z.object({
  prompt_submit_outcome: z.object({ kind: z.literal('blocked_by_hook'), reason: text.catch('no reason given') }),
});
/** What a hook printed: only with `--include-hook-events`, except of `SessionStart`. It does not name the call. */
export const HookResponse = z.object({ hook_name: text, hook_event: text, stdout: text.catch('') });
const changesInput = { updatedInput: z.record(z.string(), z.unknown()) };
/** Of a hook's output: another input for its call. One that denies or defers changes nothing. */
export const HookOutput = z.object({
  hookSpecificOutput: z.union([
    z.object({
      hookEventName: z.literal('PreToolUse'),
      permissionDecision: z.enum(['allow', 'ask']).optional(),
      ...changesInput,
    }),
    z.object({
      hookEventName: z.literal('PermissionRequest'),
      decision: z.object({ behavior: z.literal('allow'), ...changesInput }),
    }),
  ]),
});
/** A line of the CLI's record about a hook. */
export const HookAttachment = z.object({ attachment: z.object({ type: z.string().startsWith('hook_') }) });
export const PermissionDenied = z.object({
  tool_name: optionalText,
  tool_use_id: optionalText,
  decision_reason_type: optionalText,
  decision_reason: optionalText,
  message: optionalText,
});
/** A message of another session that does not reach the model, or not yet. */
export const PeerMessageHold = z.object({ state: text, from_name: optionalText, from: optionalText });
export const ModelFallback = z.object({
  original_model: optionalText,
  fallback_model: optionalText,
  content: optionalText,
});

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
