import { z } from 'zod';

/** Why a model reply ended, as the Messages API names it. */
export const StopReason = z.enum(['end_turn', 'tool_use', 'max_tokens', 'stop_sequence', 'refusal', 'pause_turn']);

/** One tool call of a reply. Strings in `input` may hold `{{planFile}}`. */
export const ToolCall = z.strictObject({
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
  id: z.string().optional(),
});

/** One content block of a reply, where the order matters or where the tool input must be broken (`rawInput`). */
export const Block = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().optional() }),
  z.strictObject({
    type: z.literal('tool_use'),
    name: z.string(),
    input: z.record(z.string(), z.unknown()).optional(),
    rawInput: z.string().optional(),
    id: z.string().optional(),
  }),
]);

/** Token counts. Missing ones are estimated from the sizes of request and reply. */
export const Usage = z.strictObject({
  input_tokens: z.int().nonnegative().optional(),
  output_tokens: z.int().nonnegative().optional(),
  cache_creation_input_tokens: z.int().nonnegative().optional(),
  cache_read_input_tokens: z.int().nonnegative().optional(),
});

const Headers = z.record(z.string(), z.string());

/** An HTTP error in place of the reply: always, or the first `times` times. */
const HttpFailure = z.strictObject({
  status: z.int().min(400).max(599),
  type: z.string().optional(),
  message: z.string().optional(),
  retryAfterSeconds: z.number().nonnegative().optional(),
  headers: Headers.optional(),
  times: z.int().positive().optional(),
});

/** An SSE `error` event in the middle of a streamed reply: always, or the first `times` times. */
const StreamFailure = z.strictObject({
  type: z.string().optional(),
  message: z.string().optional(),
  times: z.int().positive().optional(),
});

const stepFields = {
  text: z.string().optional(),
  thinking: z.string().optional(),
  tools: z.array(ToolCall).optional(),
  blocks: z.array(Block).optional(),
  stopReason: StopReason.optional(),
  usage: Usage.optional(),
  gate: z.string().optional(),
  delayMs: z.number().nonnegative().optional(),
  /** Headers of a reply that is no error, for instance those that tell an account's usage limits. */
  headers: Headers.optional(),
  chunkChars: z.int().positive().optional(),
  chunkBytes: z.int().positive().optional(),
  chunkDelayMs: z.number().nonnegative().optional(),
  hangs: z.boolean().optional(),
  error: HttpFailure.optional(),
  cut: z.enum(['before', 'during']).optional(),
  cutTimes: z.int().positive().optional(),
  streamError: StreamFailure.optional(),
};

/** One step: what the model does with one request. */
export const Step = z
  .strictObject(stepFields)
  .refine(
    ({ blocks, text, thinking, tools }) =>
      blocks === undefined || [text, thinking, tools].every((field) => field === undefined),
    { error: '`blocks` replaces `text`, `thinking` and `tools`' },
  );

/** The replies to one user message, in order. */
export const Script = z.strictObject({
  /** For a named script: a message that contains this text refers to it, without a marker. */
  when: z.string().min(1).optional(),
  steps: z.array(Step),
});

/** Scripts by name, as a YAML file holds them. */
export const Scripts = z.record(z.string(), Script);

export type StopReason = z.infer<typeof StopReason>;
export type ToolCall = z.infer<typeof ToolCall>;
export type Block = z.infer<typeof Block>;
export type Usage = z.infer<typeof Usage>;
export type Step = z.infer<typeof Step>;
export type Script = z.infer<typeof Script>;
