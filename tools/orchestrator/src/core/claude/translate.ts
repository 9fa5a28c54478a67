import {
  type ModelChoice,
  type RanBy,
  RequestKind,
  type SandboxFailure,
  type SlashCommand,
  type TokenUsage,
} from '@callboard/contract';
import type { AgentBlock, AgentEvent, Ask } from '../agent-event.ts';
import { requestKinds } from '../kinds/registry.ts';
import type { ControlRequest } from '../kinds/shared/definition.ts';
import type { Frame } from './frames.ts';
import {
  deniedIn,
  limitsInReply,
  limitsReported,
  notice,
  reported,
  stoppedCall,
  tokensOf as tokensOfModels,
  translateResult,
  translateSystem,
  wasReported,
} from './translate-messages.ts';
import * as control from './wire.ts';
import * as wire from './wire.ts';

/** The code of the notice that a line was cut off: a request may have gone with it. */
export const OUTPUT_CUT_OFF = 'output-cut-off';

/** What one frame of the CLI means. Pure; the CLI's names, subtypes and quirks (seen with 2.1.330) stop here. */
export function translate(frame: Frame): AgentEvent[] {
  switch (frame.kind) {
    case 'request':
      return [translateRequest(frame)];
    case 'cancel':
      return [{ type: 'withdrawn', requestId: frame.requestId }];
    case 'response':
      return [
        ...initialized(frame.response),
        ...offered(frame.response),
        ...costCount(frame.response),
        ...limitsInReply(frame.response),
        { type: 'response', requestId: frame.requestId, ok: frame.ok, response: frame.response },
      ];
    case 'garbage':
      return [...unclaimedReply(frame.text), shownRaw(frame.text)];
    case 'cut-off':
      return [
        notice(
          'warning',
          OUTPUT_CUT_OFF,
          'Claude Code’s output was cut off here: the disk was full, or the process was killed while writing. What was written follows.',
        ),
        shownRaw(frame.text),
      ];
    case 'message':
      return [...conversationOf(frame.message), ...translateMessage(frame.type, frame.message)];
    default:
      return frame satisfies never;
  }
}

/** Such a reply is no frame, since it has no id that could be waited for. */
function unclaimedReply(text: string): AgentEvent[] {
  if (!text.includes('control_response')) return [];
  try {
    return control.UnclaimedReply.safeParse(JSON.parse(text)).success ? [{ type: 'reply-to-nobody' }] : [];
  } catch {
    return [];
  }
}

const shownRaw = (raw: unknown): AgentEvent => ({
  type: 'notice',
  entry: { kind: 'unknown', parentToolUseId: null, raw },
});

/** The first place where the conversation's id can be read; the initialize response does not have it. */
function conversationOf(message: Record<string, unknown>): AgentEvent[] {
  const carries = message.type === 'result' || (message.type === 'system' && message.subtype === 'init');
  if (
    message.type === 'result' &&
    message.subtype === 'error_during_execution' &&
    message.terminal_reason === undefined
  )
    return [];
  return carries && typeof message.session_id === 'string'
    ? [{ type: 'conversation', sessionId: message.session_id }]
    : [];
}

function costCount(response: Record<string, unknown>): AgentEvent[] {
  const parsed = control.UsageReply.safeParse(response);
  if (!parsed.success) return [];
  const { total_cost_usd: costUsd, model_usage: modelUsage } = parsed.data.response.session;
  return [{ type: 'cost-count', costUsd, tokens: tokensOfModels(modelUsage) }];
}

const CLEARED = 'The conversation was cleared: Claude no longer remembers anything above.';

function translateMessage(type: string, message: Record<string, unknown>): AgentEvent[] {
  switch (type) {
    case 'assistant':
      return known(wire.AssistantMessage, message, translateAssistant);
    case 'user':
      return known(wire.UserMessage, message, translateUser);
    case 'result':
      return known(wire.ResultMessage, message, resultEvents);
    case 'stream_event':
      return streamed(message);
    case 'command_lifecycle':
      return known(wire.Lifecycle, message, translateLifecycle);
    case 'system':
      return translateSystem(message) ?? [shownRaw(message)];
    case 'rate_limit_event':
      return known(wire.RateLimitEvent, message, ({ rate_limit_info }) => [limitsReported(rate_limit_info)]);
    case 'attachment': // a resumed process prints what hooks of a deferred call said (2.1.330)
      return known(wire.HookAttachment, message, () => []);
    case 'tool_progress': // a heartbeat of a long tool call
    case 'keep_alive':
    case 'auth_status':
      return [];
    case 'conversation_reset': // followed by a system/init with the new id
      return [notice('info', 'conversation-cleared', CLEARED)];
    default:
      return [shownRaw(message)];
  }
}

interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false };
}

function known<T>(schema: Schema<T>, message: unknown, translated: (value: T) => AgentEvent[]): AgentEvent[] {
  const parsed = schema.safeParse(message);
  return parsed.success ? translated(parsed.data) : [shownRaw(message)];
}

/** Resuming a conversation whose transcript is gone gives this one line, no `initialize` response, and exit 1. */
const LOST = /^No conversation found with session ID/;

function resultEvents(result: Parsed<typeof wire.ResultMessage>): AgentEvent[] {
  if (result.errors?.some((error) => LOST.test(error)) === true) return [{ type: 'conversation-lost' }];
  const unasked: AgentEvent[] =
    result.origin?.kind === 'unclassified' ? [{ type: 'message-echoed', messageId: null, text: null }] : [];
  return [...unasked, ...reported(result.origin), { type: 'turn-ended', end: translateResult(result) }];
}

type Parsed<S extends { _output: unknown }> = S['_output'];

function translateAssistant({
  message,
  parent_tool_use_id,
  error,
  uuid,
}: Parsed<typeof wire.AssistantMessage>): AgentEvent[] {
  if (error !== undefined && error !== null) return []; // the same text follows in the result
  const parentToolUseId = parent_tool_use_id ?? null;
  // A model's message has an id, and each line of the CLI a uuid. A line that a script gave to the CLI is printed as it is.
  const forged: AgentEvent[] = message.id === '' && uuid === undefined ? [{ type: 'forged-line' }] : [];
  const blocks = message.content.flatMap((content): AgentEvent[] => {
    const block = translateBlock(content);
    const event: AgentEvent = { type: 'block', apiMessageId: message.id, parentToolUseId, block };
    return block.kind === 'other' && SHOWN.has(content.type) ? [event, shownRaw(content)] : [event];
  });
  return [...forged, ...blocks];
}

/** Blocks that people would miss: one that is not understood is shown raw. */
const SHOWN = new Set(['text', 'tool_use', '']);

function translateBlock(block: unknown): AgentBlock {
  const said = wire.TextBlock.safeParse(block);
  if (said.success) return { kind: 'text', text: said.data.text };
  const thought = wire.ThinkingBlock.safeParse(block);
  if (thought.success)
    return thought.data.thinking === '' ? { kind: 'other' } : { kind: 'thinking', text: thought.data.thinking };
  const call = wire.ToolUseBlock.safeParse(block);
  if (call.success)
    return { kind: 'tool-use', toolUseId: call.data.id, toolName: call.data.name, input: call.data.input };
  return { kind: 'other' };
}

/** Blocks of what a person wrote. */
const PROMPT = new Set(['text', 'image', 'document']);

/** What the CLI itself prints of `/compact`, `/context` or a new model: it has the mark of an echo, and an id of its own. */
const LOCAL_OUTPUT = /^<local-command-(?:stdout|stderr|caveat)>/;
/** What it says when it has compacted the conversation, which it may do by itself. */
const COMPACTED = /^<local-command-stdout>Compacted ?<\/local-command-stdout>$/;

function echoOf(content: Parsed<typeof wire.UserMessage>['message']['content'], messageId = ''): AgentEvent[] {
  const text = typeof content === 'string' ? content : null;
  if (text !== null && COMPACTED.test(text)) return [];
  if (text !== null && LOCAL_OUTPUT.test(text)) return [{ type: 'command-output' }];
  return messageId === '' ? [] : [{ type: 'message-echoed', messageId, text }];
}

const peerMessage = (
  { name, from, body }: NonNullable<Parsed<typeof wire.UserMessage>['origin']>,
  messageId: string,
): AgentEvent => ({
  type: 'peer-message',
  messageId,
  from: name ?? from ?? 'another session',
  text: body ?? '',
});

/** Of `user` lines only tool results are new to us: what a person wrote has its entry since it was given to the launch. */
function translateUser({
  message,
  parent_tool_use_id,
  tool_result_meta,
  tool_use_result,
  isReplay,
  origin,
  uuid,
}: Parsed<typeof wire.UserMessage>): AgentEvent[] {
  // The CLI tells the model that a background task has ended or was stopped, in the midst of a turn; nobody sent that.
  if (isReplay === true && origin?.kind === 'task-notification')
    return [{ type: 'task-news-read' }, ...reported(origin)];
  if (isReplay === true && origin?.kind === 'peer' && uuid !== undefined) return [peerMessage(origin, uuid)];
  if (isReplay === true) return echoOf(message.content, uuid);
  if (typeof message.content === 'string') return [];
  const results = message.content.flatMap((block): AgentEvent[] => {
    const result = wire.ToolResultBlock.safeParse(block);
    if (!result.success) return PROMPT.has(block.type) ? [] : [shownRaw(block)];
    const { tool_use_id: toolUseId, content, is_error } = result.data;
    const meta = tool_result_meta?.find(({ id }) => id === toolUseId);
    const permission = meta?.permission_decision?.decision === 'accept' ? meta.permission_decision : undefined;
    const text = textOf(content);
    const denied = deniedIn(meta, toolUseId, text);
    return [
      ...(denied === null ? [] : [denied]),
      {
        type: 'tool-result',
        parentToolUseId: parent_tool_use_id ?? null,
        toolUseId,
        isError: is_error ?? false,
        text,
        sandboxFailure: sandboxFailure(text, is_error ?? false, meta?.remedy?.kind),
        allowedBy: permission?.source === 'hook' ? 'hook' : null,
        ...allowance(permission),
        ...(wire.LeftSandbox.safeParse(tool_use_result).success && { leftSandbox: true as const }),
        ...stoppedCall(meta, text),
        ...(wasReported(meta) && { wasReported: true as const }),
      },
    ];
  });
  return parent_tool_use_id == null ? [...results, ...todoUpdate(tool_use_result)] : results;
}

function todoUpdate(result: unknown): AgentEvent[] {
  const one = wire.TaskResult.safeParse(result);
  if (one.success) {
    const { id, subject: content } = one.data.task;
    return [{ type: 'todos', updates: { kind: 'added', todo: { id, content, status: 'pending' } } }];
  }
  const all = wire.TaskListResult.safeParse(result);
  if (!all.success) return [];
  const todos = all.data.tasks.map(({ id, subject: content, status }) => ({ id, content, status }));
  return [{ type: 'todos', updates: { kind: 'all', todos } }];
}

function textOf(content: string | { type: string; text?: unknown }[] | undefined): string {
  if (content === undefined) return '';
  if (typeof content === 'string') return content;
  return content.map((block) => (typeof block.text === 'string' ? block.text : `[${block.type}]`)).join('\n');
}

/** What is told of a stream event: most lines are such, and only these say something. */
const REPORTED: ReadonlySet<unknown> = new Set(['content_block_start', 'content_block_delta', 'message_delta']);

/** One that is not understood is no loss: its text follows as a whole. */
function streamed(message: Record<string, unknown>): AgentEvent[] {
  const { event } = message;
  if (typeof event !== 'object' || event === null || !('type' in event) || !REPORTED.has(event.type)) return [];
  const parsed = wire.StreamEvent.safeParse(message);
  return parsed.success ? translateStreamEvent(parsed.data) : [];
}

function translateStreamEvent(reported: Parsed<typeof wire.StreamEvent>): AgentEvent[] {
  const { event, api_message_id, parent_tool_use_id } = reported;
  const { type, index, delta, usage, content_block: block } = event;
  if (type === 'message_delta' && usage !== undefined) return [{ type: 'used', tokens: tokensOf(usage) }];
  if (type === 'content_block_start' && block?.type === 'tool_use' && block.name !== undefined)
    return [{ type: 'preparing', toolName: block.name, parentToolUseId: parent_tool_use_id ?? null }];
  if (type !== 'content_block_delta' || index === undefined || api_message_id === undefined) return [];
  const place = { apiMessageId: api_message_id, index, parentToolUseId: parent_tool_use_id ?? null };
  if (delta?.text !== undefined) return [{ type: 'delta', kind: 'text', text: delta.text, ...place }];
  if (delta?.thinking !== undefined) return [{ type: 'delta', kind: 'thinking', text: delta.thinking, ...place }];
  return [];
}

const tokensOf = (usage: NonNullable<Parsed<typeof wire.StreamEvent>['event']['usage']>): TokenUsage => ({
  input: usage.input_tokens,
  output: usage.output_tokens,
  cacheRead: usage.cache_read_input_tokens ?? 0,
  cacheCreation: usage.cache_creation_input_tokens ?? 0,
});

function translateLifecycle({
  command_uuid: messageId,
  state,
  wakeup_source: wakeUp,
}: Parsed<typeof wire.Lifecycle>): AgentEvent[] {
  switch (state) {
    case 'queued':
      return [];
    case 'started':
      return [{ type: 'message-progress', messageId, progress: 'consumed', ...(wakeUp !== undefined && { wakeUp }) }];
    case 'completed':
      return [{ type: 'message-progress', messageId, progress: 'finished' }];
    case 'cancelled':
      return [{ type: 'message-progress', messageId, progress: 'cancelled' }];
    default:
      return state satisfies never;
  }
}

/** `permission_decision` of a call that ran, as Claude Code tells it. */
interface Permission {
  source: string;
  reason_type?: string | null | undefined;
}

const BY_REASON: Readonly<Record<string, RanBy>> = {
  rule: 'rule',
  subcommandResults: 'parts', // also for a command that only reads (seen with `ls`)
  mode: 'mode',
  classifier: 'classifier',
};

/** Returns what let a call run: what Callboard checks, and what a receipt says. Nothing if Claude Code does not tell. */
export function allowance(permission: Permission | undefined): {
  underRule?: true;
  unruled?: true;
  ranBy?: RanBy;
} {
  if (permission === undefined) return {};
  const { source, reason_type: reason } = permission;
  if (source === 'hook') return { ranBy: 'hook' };
  if (source.startsWith('user_')) return { ranBy: 'person' };
  if (source !== 'config') return { ranBy: 'other' };
  return {
    underRule: true,
    ...(reason === 'other' && { unruled: true as const }),
    ranBy: BY_REASON[reason ?? ''] ?? 'other',
  };
}

/** The CLI adds this at the end of a command's output. Only the end counts, since a command can print the tag itself. */
const VIOLATIONS = /<sandbox_violations>\s*((?:(?!<sandbox_violations>)[\s\S])*?)\s*<\/sandbox_violations>\s*$/;
/** The CLI does not mark refusals by the file system or of a socket (tried on Linux). They look like this: */
const REFUSALS = [
  /^.*Read-only file system.*$/m,
  /^.*\bEROFS\b.*$/m,
  /^.*socket.*Operation not permitted.*$/im,
  /^.*\b(?:listen|connect) EPERM\b.*$/m,
  // A server that another command started, or that runs outside.
  /^.*(?:ECONNREFUSED|Failed to connect to|Connection refused|connection to server at).*(?:127\.0\.0\.1|::1|localhost).*$/im,
  /^.*(?:127\.0\.0\.1|::1|localhost).*(?:Connection refused|ECONNREFUSED).*$/im,
];
const MAX_LENGTH = 500;

/**
 * Returns what the sandbox denied a command; null if nothing indicates a denial. The caller knows whether the command ran
 * in a sandbox at all.
 * @param remedy the CLI's own suggestion
 */
export function sandboxFailure(output: string, isError: boolean, remedy: string | undefined): SandboxFailure | null {
  if (remedy === 'sandbox_violation') {
    const violations = VIOLATIONS.exec(output)?.[1];
    return { isCertain: true, detail: shortened(violations ?? 'Claude Code does not say what was refused.') };
  }
  if (!isError) return null;
  const line = REFUSALS.map((refusal) => refusal.exec(output)?.[0]).find((found) => found !== undefined);
  return line === undefined ? null : { isCertain: false, detail: shortened(line.trim()) };
}

const shortened = (text: string): string => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)} …` : text);

/** A description may be a page of instructions to the model; a list shows its beginning. */
const MAX_DESCRIPTION_LENGTH = 200;

/** What the answer to `initialize` says of commands and models; nothing for any other answer. */
export function offered(response: Record<string, unknown>): AgentEvent[] {
  const parsed = control.Offer.safeParse(response);
  if (!parsed.success) return [];
  const { commands, models } = parsed.data.response;
  if (commands.length + models.length === 0) return []; // any other answer
  return [
    {
      type: 'offered',
      capabilities: { commands: commands.flatMap(slashCommand), models: models.flatMap(modelChoice) },
    },
  ];
}

function slashCommand(command: (typeof control.Offer)['_output']['response']['commands'][number]): SlashCommand[] {
  // Two underscores are the CLI's own business (`__remote-workflow`).
  if (command === null || command.name.startsWith('__')) return [];
  const { name, argumentHint, aliases, builtin: isBuiltIn } = command;
  return [{ name, description: shortenedOffer(command.description), argumentHint, aliases, isBuiltIn }];
}

function modelChoice(model: (typeof control.Offer)['_output']['response']['models'][number]): ModelChoice[] {
  if (model === null) return [];
  const { value, resolvedModel: resolved = null, displayName: label = value, description } = model;
  const efforts = model.supportsEffort ? model.supportedEffortLevels : [];
  return [{ value, resolved, label, description: shortenedOffer(description), efforts }];
}

const shortenedOffer = (text: string): string =>
  text.length <= MAX_DESCRIPTION_LENGTH ? text : `${text.slice(0, MAX_DESCRIPTION_LENGTH - 1).trimEnd()}…`;

/** What a control request of the CLI means. */
function translateRequest({ requestId, request }: Extract<Frame, { kind: 'request' }>): AgentEvent {
  const recognised = recognise(request);
  // A malformed permission request that is merely ignored would leave the agent waiting for ever.
  return recognised === null
    ? { type: 'asked-unknown', requestId, subtype: request.subtype, permissionFor: permissionFor(request) }
    : { type: 'asked', requestId, ...recognised };
}

/** The tool that a request which cannot be read seems to ask permission for; null for one that asks something else. */
const permissionFor = (request: ControlRequest): string | null =>
  control.PermissionLike.safeParse(request).data?.tool_name ?? (request.subtype === 'can_use_tool' ? 'a tool' : null);

type Recognised = Pick<Extract<AgentEvent, { type: 'asked' }>, 'kind' | 'ask'>;

/** The kind of a control request and what it asks of a person; null for one that is not for people, or cannot be read. */
function recognise(request: ControlRequest): Recognised | null {
  if (request.subtype === 'can_use_tool') {
    const { data } = control.CanUseTool.safeParse(request);
    return data === undefined ? null : { kind: kindOfTool(data.tool_name), ask: askOf(data) };
  }
  for (const kind of RequestKind.options) {
    const { recognise: rule } = requestKinds[kind];
    if (rule.by !== 'subtype' || rule.subtype !== request.subtype) continue;
    const ask = rule.read(request);
    return ask === null ? null : { kind, ask };
  }
  return null;
}

/** The kind of a permission request for this tool. */
export const kindOfTool = (toolName: string): RequestKind =>
  RequestKind.options.find((kind) => {
    const { recognise: rule } = requestKinds[kind];
    return rule.by === 'tool' && rule.toolName === toolName;
  }) ?? 'approval';

function askOf(data: (typeof control.CanUseTool)['_output']): Ask {
  const leaves = data.decision_reason_type === 'sandboxOverride';
  return {
    toolName: data.tool_name,
    displayName: data.display_name ?? data.tool_name,
    input: data.input,
    description: data.description ?? null,
    toolUseId: data.tool_use_id,
    agentId: data.agent_id ?? null,
    reason: data.decision_reason ?? null,
    blockedPath: data.blocked_path ?? null,
    suggestions: (data.permission_suggestions ?? []).filter((suggestion) => suggestion !== null),
    suppressAlwaysAllow: data.suppress_always_allow_rule ?? false,
    leavesSandbox: leaves ? { reason: data.decision_reason ?? null } : null,
  };
}

/** The open requests, which only the reply to `initialize` lists. */
function initialized(response: Record<string, unknown>): AgentEvent[] {
  if (!control.InitializedMark.safeParse(response).success) return [];
  const parsed = control.Initialized.safeParse(response);
  if (!parsed.success) return [];
  const event: Extract<AgentEvent, { type: 'initialized' }> = {
    type: 'initialized',
    mode: parsed.data.response?.current_permission_mode ?? null,
    open: [],
    unclear: [],
  };
  for (const pending of parsed.data.pending_permission_requests) {
    const { request_id: requestId, request } = pending;
    const recognised = request === undefined ? null : recognise(request);
    if (requestId !== null && recognised !== null) event.open.push({ requestId, ...recognised });
    else {
      const raw = requestId === null ? pending.raw : pending;
      event.unclear.push({ requestId, subtype: request?.subtype ?? 'unknown', raw });
    }
  }
  return [event];
}
