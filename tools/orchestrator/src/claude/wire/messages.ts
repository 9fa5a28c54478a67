import { RequestId } from '@callboard/contract';
import { z } from 'zod';

/**
 * The messages of the CLI that mean something to us, as far as they do. Seen with CLI 2.1.212 to 2.1.330; unknown keys
 * are not looked at. What is missing, or is not what it was, has a meaning where it can have one (a missing list is an
 * empty one); a message that means nothing without it is shown raw.
 */

const text = z.string();
/** Whatever it is, it is no text: it is as if it were not there. */
const words = text.optional().catch(undefined);
const parent = { parent_tool_use_id: text.nullish().catch(null) };
const block = z.looseObject({ type: text.catch('') }).catch({ type: '' });

export const AssistantMessage = z.object({
  ...parent,
  uuid: text.optional().catch(undefined),
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

export const UserMessage = z.object({
  ...parent,
  message: z.object({ content: z.union([text, z.array(block)]) }),
  uuid: text.optional().catch(undefined),
  isReplay: z.boolean().optional().catch(undefined),
  /**
   * Whose words they are. The CLI keeps `task-notification` to itself: a message that claims it loses it (tried). With `peer`, another
   * session, its name and words stand beside it.
   */
  origin: z.object({ kind: text, name: words, from: words, body: words }).optional().catch(undefined),
  tool_use_result: z.unknown().optional(),
  /** Who let each tool run: seen are `user_temporary`, `user_permanent`, `user_reject`, `config` and `hook`. */
  tool_result_meta: z
    .array(
      z
        .object({
          id: text,
          permission_decision: z
            .object({ decision: text, source: text, reason_type: words })
            .optional()
            .catch(undefined),
          /** Why a call did not run; seen are `permission-rule`, `user-rejected` and `automode-unavailable`. */
          non_execution_kind: words,
          /** What would help a call that failed; seen with the kind `sandbox_violation`. */
          remedy: z.object({ kind: text }).optional().catch(undefined),
        })
        .or(
          z.unknown().transform(() => ({
            id: '',
            permission_decision: undefined,
            non_execution_kind: undefined,
            remedy: undefined,
          })),
        ),
    )
    .optional()
    .catch(undefined),
});
/** A control response that cannot be matched to any request: whoever asked gave no id, or none that is used here. */
export const ReplyToNobody = z.object({ type: z.literal('control_response'), response: z.object({ subtype: text }) });
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

/** Nothing of it is needed: a result that was not understood would leave its turn running for ever. */
export const ResultMessage = z.object({
  subtype: text.catch(''),
  is_error: z.boolean().nullish().catch(null),
  result: text.optional().catch(undefined),
  terminal_reason: text.nullish().catch(undefined),
  /** Who began the turn: `human`, `task-notification`, nobody for a command; `unclassified` for one made to look like the CLI's own. */
  origin: z.object({ kind: text }).optional().catch(undefined),
  duration_ms: z.number().optional().catch(undefined),
  total_cost_usd: z.number().optional().catch(undefined),
  errors: z.array(text).optional().catch(undefined),
  /** The messages that the turn worked on. */
  user_message_uuids: z.array(text).catch([]),
  /** Calls that did not run, whoever denied them: a person's denials are among them. */
  permission_denials: z
    .array(z.object({ tool_use_id: text, tool_name: text.catch('') }).or(z.unknown().transform(() => null)))
    .catch([]),
  modelUsage: z
    .record(
      text,
      z.object({
        inputTokens: z.number().catch(0),
        outputTokens: z.number().catch(0),
        cacheReadInputTokens: z.number().catch(0),
        cacheCreationInputTokens: z.number().catch(0),
      }),
    )
    .optional()
    .catch(undefined),
});

export const StreamEvent = z.object({
  ...parent,
  api_message_id: text.optional(),
  event: z.object({
    type: text,
    index: z.int().optional(),
    delta: z.object({ type: text.optional(), text: text.optional(), thinking: text.optional() }).optional(),
    /** With `message_delta`: what the model call has used. */
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
});

export const SystemInit = z.object({
  model: text.nullable().catch(null),
  permissionMode: text.nullable().catch(null),
  claude_code_version: text.nullable().catch(null),
  tools: z.array(text).catch([]),
  /** Where it keeps what it remembers; not in its minimal mode. */
  memory_paths: z.unknown().optional(),
  user_message_uuids: z.array(text).catch([]),
  mcp_servers: z
    .array(z.object({ name: text, status: text }).or(z.unknown().transform(() => null)))
    .nullable()
    .catch(null),
});
export const SystemStatus = z.object({ permissionMode: text.optional() });
export const TaskStarted = z.object({
  task_id: text,
  tool_use_id: text.nullish().catch(null),
  description: text.catch(''),
  task_type: text.catch('unknown'),
});
export const TasksChanged = z.object({
  /** One that is not understood runs all the same. */
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
  error: words,
});
/** `informational` has `content`, `notification` has `text`. */
export const Informational = z
  .object({ content: words, text: words, level: words })
  .transform(({ content, text: other, level }) => ({ content: content ?? other ?? '', level }))
  .refine(({ content }) => content !== '');
/** On an `informational` line: what became of a message (seen: `blocked_by_hook`). */
export const PromptBlocked = z.object({
  prompt_submit_outcome: z.object({ kind: z.literal('blocked_by_hook'), reason: text.catch('no reason given') }),
});
export const PermissionDenied = z.object({
  tool_name: words,
  tool_use_id: words,
  decision_reason_type: words,
  decision_reason: words,
  message: words,
});
/** A message of another session that does not reach the model, or not yet. */
export const PeerMessageHold = z.object({ state: text, from_name: words, from: words });
export const ModelFallback = z.object({
  original_model: words,
  fallback_model: words,
  content: words,
});

/** A request is refused, unseen by a person, only where it lacks what a person needs to decide or the answer needs to arrive. */
export const CanUseTool = z.object({
  tool_name: text,
  display_name: text.optional().catch(undefined),
  input: z.record(z.string(), z.unknown()),
  description: text.nullish().catch(null),
  /** Without it the request is not linked with its call in the transcript. */
  tool_use_id: text.catch(''),
  agent_id: text.nullish().catch(null),
  decision_reason: text.nullish().catch(null),
  /** Seen are `other`, `mode`, `hook`, `workingDir`, `safetyCheck`, `subcommandResults` and `sandboxOverride`. */
  decision_reason_type: text.nullish().catch(null),
  blocked_path: text.nullish().catch(null),
  /** One that is not understood is left out: the others can be chosen. */
  permission_suggestions: z
    .array(z.looseObject({ type: text }).or(z.unknown().transform(() => null)))
    .nullish()
    .catch(null),
  suppress_always_allow_rule: z.boolean().nullish().catch(null),
});

/** What a request for permission has whatever it is called: the name of a tool, and what it is to be run with. */
export const PermissionLike = z.object({ tool_name: text, input: z.record(z.string(), z.unknown()) });

/** An MCP server asks the person for something; `requested_schema` is the JSON Schema of a flat form. */
export const Elicitation = z.looseObject({ mcp_server_name: text, message: text });

/**
 * The answer to `initialize`: the open requests stand beside the response proper, whole, as they were sent. A list that
 * is missing is an empty one: until 2.1.267 the CLI left it out when nothing was open.
 */
export const Initialized = z.object({
  pending_permission_requests: z
    .array(
      // One that is not understood must be answered all the same, as far as it can be.
      z
        .looseObject({ request_id: RequestId, request: z.looseObject({ subtype: text }) })
        .or(z.looseObject({ request_id: RequestId, request: z.undefined().catch(undefined) }))
        .or(z.unknown().transform((raw) => ({ request_id: null, request: undefined, raw }))),
    )
    .or(z.unknown().transform((raw) => [{ request_id: null, request: undefined, raw }]))
    .default([]),
  response: z.object({ current_permission_mode: words, session_state: words }).optional().catch(undefined),
});

/** Some of what the answer to `initialize` has always told, and no other answer does. */
export const InitializedMark = z.union([
  z.object({ pending_permission_requests: z.unknown().refine((value) => value !== undefined) }),
  z.object({ response: z.object({ commands: z.array(z.unknown()), agents: z.array(z.unknown()) }) }),
  z.object({ response: z.object({ commands: z.array(z.unknown()), models: z.array(z.unknown()) }) }),
  z.object({ response: z.object({ models: z.array(z.unknown()), agents: z.array(z.unknown()) }) }),
  z.object({ response: z.object({ account: z.unknown(), pid: z.number() }) }),
]);

/** The same answer, as to what the process does just now. */
export const InitializedState = z.object({
  response: z.object({ session_state: words }).catch({ session_state: undefined }),
});

/** What is no list is an empty one. */
const listOf = <T extends z.ZodType>(schema: T) => z.array(schema).catch([]);
const orNull = <T extends z.ZodType>(schema: T) => schema.or(z.unknown().transform(() => null));

/** In the answer to `initialize`: what may be typed behind a slash, and the models. What is not understood is null. */
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
          resolvedModel: text.optional().catch(undefined),
          displayName: text.optional().catch(undefined),
          description: text.catch(''),
          supportsEffort: z.boolean().catch(false),
          supportedEffortLevels: z.array(text).catch([]),
        }),
      ),
    ),
  }),
});

/** The reply to `get_usage`, as far as it is needed: from where on the process counts what it costs. */
export const UsageReply = z.object({
  response: z.object({ session: z.object({ total_cost_usd: z.number() }) }),
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

/** The reply to `get_task_output`: the last 8 KiB. */
export const TaskOutputReply = z.object({
  response: z.object({ output: text, total_bytes: z.number().catch(0), truncated: z.boolean().catch(false) }),
});
/** The reply to `mcp_status`. `config` holds secrets (headers, addresses) and is not looked at. */
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
