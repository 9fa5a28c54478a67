import { z } from 'zod';

/**
 * The messages of the CLI that mean something to us, as far as they do. Seen with CLI 2.1.330; unknown keys are not
 * looked at. A message of a known type that does not have this shape is shown raw.
 */

const text = z.string();
const parent = { parent_tool_use_id: z.string().nullish() };

export const AssistantMessage = z.object({
  ...parent,
  message: z.object({
    id: text.default(''),
    content: z.array(z.looseObject({ type: text })),
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
  message: z.object({ content: z.union([text, z.array(z.looseObject({ type: text }))]) }),
  isReplay: z.boolean().optional(),
  isSynthetic: z.boolean().optional(),
});
export const ToolResultBlock = z.object({
  type: z.literal('tool_result'),
  tool_use_id: text,
  content: z.union([text, z.array(z.looseObject({ type: text }))]).optional(),
  is_error: z.boolean().nullish(),
});

export const ResultMessage = z.object({
  subtype: text,
  is_error: z.boolean(),
  result: text.optional(),
  terminal_reason: text.nullish(),
  duration_ms: z.number().optional(),
  total_cost_usd: z.number().optional(),
  errors: z.array(text).optional(),
});

export const StreamEvent = z.object({
  ...parent,
  api_message_id: text.optional(),
  event: z.object({
    type: text,
    index: z.int().optional(),
    delta: z.object({ type: text.optional(), text: text.optional(), thinking: text.optional() }).optional(),
  }),
});

export const Lifecycle = z.object({
  command_uuid: text,
  state: z.enum(['queued', 'started', 'completed', 'cancelled']),
});

export const SystemInit = z.object({ model: text.optional(), permissionMode: text.optional() });
export const SystemStatus = z.object({ permissionMode: text.optional() });
export const TaskStarted = z.object({
  task_id: text,
  tool_use_id: text.nullish(),
  description: text.default(''),
  task_type: text.default('unknown'),
});
export const TasksChanged = z.object({
  tasks: z.array(z.object({ task_id: text, task_type: text.default('unknown'), description: text.default('') })),
});
export const ApiRetry = z.object({
  attempt: z.number(),
  max_retries: z.number(),
  retry_delay_ms: z.number().optional(),
  error_status: z.number().nullish(),
  error: text.optional(),
});
export const Informational = z.object({ content: text, level: text.optional() });
export const PermissionDenied = z.object({
  tool_name: text.optional(),
  decision_reason: text.optional(),
  message: text.optional(),
});
export const ModelFallback = z.object({
  original_model: text.optional(),
  fallback_model: text.optional(),
  content: text.optional(),
});

export const CanUseTool = z.object({
  tool_name: text,
  display_name: text.optional(),
  input: z.record(z.string(), z.unknown()),
  description: text.nullish(),
  tool_use_id: text,
  agent_id: text.nullish(),
  decision_reason: text.nullish(),
  blocked_path: text.nullish(),
  permission_suggestions: z.array(z.looseObject({ type: text })).nullish(),
  suppress_always_allow_rule: z.boolean().nullish(),
});

/** The answer to `initialize`: the open requests stand beside the response proper, whole, as they were sent. */
export const Initialized = z.object({
  pending_permission_requests: z.array(
    z.object({ request_id: text, request: z.looseObject({ subtype: text }) }).or(z.unknown().transform(() => null)),
  ),
  response: z.object({ current_permission_mode: text.optional() }).optional(),
});
