import { createHash } from 'node:crypto';
import type { NoticeCode } from '@callboard/contract';
import type { AgentEvent } from '../agent/agent-event.ts';
import { parseJson } from '../lib/parse-json.ts';
import { translateDenied } from './translate-denial.ts';
import * as wire from './wire/messages.ts';

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
