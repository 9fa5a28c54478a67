import { createHash } from 'node:crypto';
import type { DenialSource, LimitStatus, LimitWindow, NoticeCode } from '@callboard/contract';
import type { z } from 'zod';
import { parseJson } from '../../lib/text.ts';
import type { AgentEvent, LimitRefusal, TurnEnd } from '../agent-event.ts';
import * as wire from './wire.ts';
import { type ModelUsage, type RateLimitInfo, type ResultMessage, UsageLimitsReply } from './wire.ts';

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

const STATUS: Readonly<Record<z.infer<typeof RateLimitInfo>['status'], LimitStatus>> = {
  allowed: 'allowed',
  allowed_warning: 'near',
  rejected: 'reached',
};

/** What a `rate_limit_event` tells: the limit that decides, and every window that it names. */
export function limitsReported(info: z.infer<typeof RateLimitInfo>): AgentEvent {
  const status = STATUS[info.status];
  const { window, resetsAt } = refusalOf(info);
  const windows = Object.entries(info.unifiedWindows).flatMap(([name, reported]): LimitWindow[] =>
    reported === undefined
      ? []
      : [
          {
            name,
            utilization: reported.utilization,
            resetsAt: reported.resetsAt,
            status: reported.status === undefined ? null : STATUS[reported.status],
          },
        ],
  );
  // A limit of one model is named above only.
  if (window !== null && !windows.some(({ name }) => name === window))
    windows.push({ name: window, utilization: info.utilization ?? null, status, resetsAt });
  return { type: 'usage-limits', overall: { status, window, resetsAt, isUsingOverage: info.isUsingOverage }, windows };
}

/** Which limit decides, and when it resets. */
export const refusalOf = ({ rateLimitType, resetsAt }: z.infer<typeof RateLimitInfo>): LimitRefusal => ({
  window: rateLimitType ?? null,
  resetsAt: resetsAt ?? null,
});

/** Beside them stands what may be bought in addition. */
const WINDOW = /^(?:five_hour|seven_day)/;

/** The windows in a reply to `get_usage`; none without a claude.ai login. */
export function limitsInReply(response: Record<string, unknown>): AgentEvent[] {
  const parsed = UsageLimitsReply.safeParse(response);
  if (!parsed.success) return [];
  const windows = Object.entries(parsed.data.response.rate_limits).flatMap(([name, window]): LimitWindow[] =>
    window?.utilization == null || !WINDOW.test(name)
      ? []
      : [{ name, utilization: window.utilization / 100, status: null, resetsAt: window.resets_at }],
  );
  return windows.length === 0 ? [] : [{ type: 'usage-limits', overall: null, windows }];
}

type Level = 'info' | 'warning' | 'error';

/** An entry that a person should read. */
export const notice = (level: Level, code: NoticeCode, text: string): AgentEvent => ({
  type: 'notice',
  entry: { kind: 'notice', parentToolUseId: null, level, code, text },
});

/** Subtypes that say nothing a person needs, or nothing that another line does not say as well. */
const SILENT = new Set([
  'thinking_tokens',
  'task_progress',
  'task_updated',
  'hook_started',
  'hook_progress',
  'session_state_changed',
  'session_title_changed',
  'control_request_progress',
  'files_persisted',
]);

/** All that its minimal mode (`--bare`) has of its own (2.1.330). */
const MINIMAL_TOOLS = 'Bash,Edit,Read';

/** Whether it runs without CLAUDE.md and hooks: nobody here asks for that, but a release may do it by itself. */
function isMinimal({ tools, memory_paths }: (typeof wire.SystemInit)['_output']): boolean {
  const own = tools.filter((name) => !name.startsWith('mcp__')).sort();
  return memory_paths === undefined && own.join() === MINIMAL_TOOLS;
}

/** What a `system` line means; null for a subtype that is not known or not of its shape. */
export function translateSystem(message: Record<string, unknown>): AgentEvent[] | null {
  const subtype = typeof message.subtype === 'string' ? message.subtype : '';
  if (SILENT.has(subtype)) return [];
  switch (subtype) {
    case 'init': {
      const { data } = wire.SystemInit.safeParse(message);
      if (data === undefined) return null;
      const { model, permissionMode: mode, claude_code_version: version, user_message_uuids: messageIds } = data;
      const minimal = isMinimal(data) && { isMinimal: true as const };
      const servers = data.mcp_servers?.flatMap((server) => server ?? []);
      const mcpServers = servers?.map(({ name, status }) => ({ name, state: wire.mcpState(status) }));
      return [
        { type: 'turn-started', model, mode, version, messageIds, ...(mcpServers && { mcpServers }), ...minimal },
      ];
    }
    case 'status': {
      const { data } = wire.SystemStatus.safeParse(message);
      return data?.permissionMode === undefined ? [] : [{ type: 'mode-changed', mode: data.permissionMode }];
    }
    case 'hook_response':
      return hookInput(message);
    case 'task_started': {
      const { data } = wire.TaskStarted.safeParse(message);
      if (data === undefined) return null;
      const { task_id: taskId, tool_use_id, description, task_type: taskType, parent_task_id } = data;
      const started = { taskId, toolUseId: tool_use_id ?? null, description, taskType };
      return [{ type: 'task-started', ...started, ...(parent_task_id != null && { parentTaskId: parent_task_id }) }];
    }
    case 'task_notification': {
      // The live set of tasks follows as background_tasks_changed.
      const { data } = wire.TaskEnded.safeParse(message);
      if (data === undefined) return [];
      const { task_id: taskId, run_id: runId, status, summary } = data;
      const isReported = status === 'completed' || status === 'failed';
      const updates: AgentEvent[] = summary === '' ? [] : [{ type: 'task-news', text: summary }];
      return [...updates, { type: 'task-ended', taskId, runId, isReported }];
    }
    case 'background_tasks_changed': {
      const { data } = wire.TasksChanged.safeParse(message);
      if (data === undefined) return null;
      const tasks = data.tasks.map((task) => ({
        taskId: task.task_id,
        type: task.task_type,
        description: task.description,
      }));
      return [{ type: 'tasks', tasks }];
    }
    default:
      return translateNotice(subtype, message);
  }
}

/** Identifies what a hook printed: the CLI's record of the conversation has the same text, with the call (2.1.330). */
export const digestOf = (stdout: string): string => createHash('sha256').update(stdout).digest('hex');

/** An input that a hook gave its call; nothing for a hook that changes none. */
function hookInput(message: Record<string, unknown>): AgentEvent[] {
  const { data } = wire.HookResponse.safeParse(message);
  if (data === undefined || !data.stdout.includes('updatedInput')) return [];
  const output = wire.HookOutput.safeParse(parseJson(data.stdout)).data?.hookSpecificOutput;
  if (output === undefined || output.hookEventName !== data.hook_event) return [];
  const [when, input] =
    output.hookEventName === 'PreToolUse'
      ? (['before', output.updatedInput] as const)
      : (['deciding', output.decision.updatedInput] as const);
  const toolName = data.hook_name.slice(data.hook_name.indexOf(':') + 1); // "PreToolUse:Bash"
  return [{ type: 'hook-changed-input', change: { when, toolName, input, digest: digestOf(data.stdout) } }];
}

function translateNotice(subtype: string, message: Record<string, unknown>): AgentEvent[] | null {
  switch (subtype) {
    case 'api_retry': {
      const { data } = wire.ApiRetry.safeParse(message);
      return data === undefined ? null : [notice('warning', 'api-retry', retryText(data))];
    }
    case 'informational':
    case 'notification': {
      const blocked = wire.PromptBlocked.safeParse(message).data?.prompt_submit_outcome;
      if (blocked !== undefined) return [{ type: 'prompt-blocked', reason: blocked.reason }];
      const { data } = wire.Informational.safeParse(message);
      return data === undefined ? null : [notice(data.level === 'error' ? 'error' : 'info', subtype, data.content)];
    }
    case 'permission_denied': {
      const { data } = wire.PermissionDenied.safeParse(message);
      if (data === undefined) return null;
      const denied = translateDenied(data);
      if (denied !== null) return [denied];
      const why = data.decision_reason ?? data.message;
      const what = `Claude Code itself refused ${data.tool_name ?? 'a tool call'}`;
      return [notice('warning', 'permission-denied', why === undefined ? `${what}.` : `${what}: ${why}`)];
    }
    case 'peer_message_hold': {
      const { data } = wire.PeerMessageHold.safeParse(message);
      if (data === undefined) return null;
      if (data.state === 'released') return []; // its text follows
      const who = data.from_name ?? data.from ?? 'another session';
      const text = `Another Claude Code session (${who}) sent a message. It was not delivered to Claude: a setting on this machine blocks such messages.`;
      return [notice('info', 'session-message', text)];
    }
    case 'model_fallback': {
      const { data } = wire.ModelFallback.safeParse(message);
      if (data === undefined) return null;
      const text =
        data.content ?? `Switched from ${data.original_model ?? 'the model'} to ${data.fallback_model ?? 'another'}.`;
      return [notice('warning', 'model-fallback', text)];
    }
    case 'compact_boundary':
      return [notice('info', 'compacted', 'The conversation was compacted: Claude continues from a summary.')];
    default:
      return null;
  }
}

function retryText({ attempt, max_retries, error_status, error }: (typeof wire.ApiRetry)['_output']): string {
  const which = attempt === null ? '' : `, attempt ${attempt}${max_retries === null ? '' : ` of ${max_retries}`}`;
  switch (error_status) {
    case 401:
      return `The API rejected the login (401). Claude Code retries${which}. Log in with "claude" in a terminal, or check the API key.`;
    case 429:
      return `The API's rate limit is reached (429). Claude Code waits and retries${which}.`;
    case 529:
      return `The API is overloaded (529). Claude Code waits and retries${which}.`;
    case null:
    case undefined:
      return `The API could not be reached (${error ?? 'no answer'}). Claude Code retries${which}.`;
    default:
      return `The API answered ${error_status} (${error ?? 'error'}). Claude Code retries${which}.`;
  }
}

type Denied = Extract<AgentEvent, { type: 'call-denied' }>;
type Meta = NonNullable<(typeof wire.UserMessage)['_output']['tool_result_meta']>[number];

/** What the CLI calls its reasons (2.1.330). */
const SOURCES: Readonly<Record<string, DenialSource>> = {
  mode: 'mode',
  classifier: 'mode', // the safety check of auto mode
  asyncAgent: 'mode',
  rule: 'rule',
  subcommandResults: 'rule', // said of every Bash command
  hook: 'hook',
};

const sourceOf = (type: string | undefined): DenialSource => SOURCES[type ?? ''] ?? 'unknown';

/** What the model is told besides, in a denial of any kind: nothing that a person has to read. */
const ADVICE = / IMPORTANT: You \*may\* attempt [\s\S]*$/;
const HOOK_ERROR = /^(\w+:\S+) hook error: ([\s\S]*)$/;
const TOOL_ERROR = /^<tool_use_error>([\s\S]*)<\/tool_use_error>$/;

/** A line that tells of a denial by itself, before the result of the call. Null where it does not say which call it is. */
function translateDenied(line: (typeof wire.PermissionDenied)['_output']): Denied | null {
  const { tool_use_id: toolUseId, tool_name: toolName = '', decision_reason_type: type, message } = line;
  if (toolUseId === undefined || toolUseId === '') return null;
  const denial = { source: sourceOf(type), detail: null };
  return { type: 'call-denied', toolUseId, toolName, denial, reason: reasonOf(message ?? line.decision_reason) };
}

/**
 * What the result of a call says of who denied it. File tools under a deny rule and hooks are told of here alone. Null for
 * a call that ran, failed, or was denied by a person.
 */
export function deniedIn(meta: Meta | undefined, toolUseId: string, text: string): Denied | null {
  const { permission_decision: decided, non_execution_kind: kind } = meta ?? {};
  const source = sourceIn(decided, kind);
  if (source === null) return null;
  const [, detail = null, said = text] = HOOK_ERROR.exec(text) ?? [];
  const denial = { source, detail: source === 'hook' ? detail : null };
  return { type: 'call-denied', toolUseId, toolName: '', denial, reason: reasonOf(said) };
}

function sourceIn(decided: Meta['permission_decision'], kind: string | undefined): DenialSource | null {
  if (kind === 'automode-unavailable') return 'mode';
  if (decided?.decision !== 'reject') return null;
  switch (decided.source) {
    case 'hook':
      return 'hook';
    case 'config':
      return sourceOf(decided.reason_type);
    default:
      // A person's, which has no type; but a rule in a file of the user's own is told of as `user_reject`, too (tried).
      return SOURCES[decided.reason_type ?? ''] ?? null;
  }
}

/** Whether it is told what became of the call, so that nothing has to be guessed from the end of the turn. */
export const wasReported = (meta: Meta | undefined): boolean =>
  meta?.permission_decision !== undefined || meta?.non_execution_kind !== undefined;

function reasonOf(text: string | undefined): string | null {
  const said = (text ?? '').replace(ADVICE, '').replace(TOOL_ERROR, '$1').trim();
  return said === '' ? null : said;
}

/** What the CLI says of a call that an interrupt ended, and of one that a person denied without a word (2.1.330). */
const REFUSED = /^The user doesn't want to proceed with this tool use\./;
/** What it adds for a call that was running. */
const WAS_RUNNING = 'this call was stopped while running';

/** Whether an interrupt may have ended a call. Of a person's denial the CLI tells who decided, or repeats their words. */
export function stoppedCall(meta: Meta | undefined, text: string): { stopped?: 'before' | 'running' } {
  if (meta?.permission_decision !== undefined || !REFUSED.test(text)) return {};
  return { stopped: text.includes(WAS_RUNNING) ? 'running' : 'before' };
}
