import {
  type BackgroundTask,
  type Capabilities,
  type Denial,
  type InputChange,
  type LeavesSandbox,
  type LimitWait,
  type LimitWindow,
  type NewTranscriptEntry,
  type PermissionUpdate,
  type RanBy,
  type RequestKind,
  type SandboxFailure,
  type SessionSummary,
  Todo,
  type TokenUsage,
  type ToolInput,
  type UsageLimits,
} from '@callboard/contract';
import { z } from 'zod';
import { ownProperty } from '../lib/text.ts';

/** What the agent's process reports, in Callboard's terms. Only `claude/translate.ts` knows the CLI's wording. */
export type AgentEvent =
  /** The conversation's newest id; it changes when a person clears the conversation. */
  | { type: 'conversation'; sessionId: string }
  /** A hook of the repository or the user blocked the message; the turn then ends as if it had succeeded. */
  | { type: 'prompt-blocked'; reason: string }
  /** The conversation to resume no longer exists. */
  | { type: 'conversation-lost' }
  /** A turn begins. The CLI also begins turns on its own, for instance when a background agent has finished. */
  | {
      type: 'turn-started';
      model: string | null;
      mode: string | null;
      version?: string | null;
      messageIds: readonly string[];
      /** Missing when the process does not list them. */
      mcpServers?: SessionSummary['mcpServers'];
      /** What failed ones among them said themselves, by name. */
      mcpText?: Readonly<Record<string, string>>;
      /** The process ignores memory files, and the hooks of settings files. */
      isMinimal?: true;
    }
  | { type: 'mode-changed'; mode: string }
  /** The process has accepted a person's message. Null when it did not report the id, or the text. */
  | { type: 'message-echoed'; messageId: string | null; text: string | null }
  /** Another session of the same account has sent a message; `from` is that session's name for itself. */
  | { type: 'peer-message'; messageId: string; from: string; text: string }
  /** The output of one of the CLI's own commands, in the shape of a message. */
  | { type: 'command-output' }
  /** A line that the process itself never prints. */
  | { type: 'forged-line' }
  /** The process answered a control request without an id. Callboard sends none. */
  | { type: 'reply-to-nobody' }
  /** `consumed`: the model reads it in the running turn. */
  | {
      type: 'message-progress';
      messageId: string;
      progress: 'consumed' | 'finished' | 'cancelled';
      /** The agent itself began a turn with it, as it says: what made it. */
      wakeUp?: string;
    }
  /** A content block of a model message is complete. */
  | { type: 'block'; apiMessageId: string; parentToolUseId: string | null; block: AgentBlock }
  | {
      type: 'tool-result';
      parentToolUseId: string | null;
      toolUseId: string;
      isError: boolean;
      text: string;
      /** The process says that a person refused the call, or stopped it: an interrupt looks like both, unless somebody denied it. */
      stopped?: 'before' | 'running';
      /** `hook`: a hook allowed the call, and nobody was asked. */
      allowedBy: 'hook' | null;
      /** What let the call run, if the process tells. */
      ranBy?: RanBy;
      /** The sandbox denied the call something, or seems to have. */
      sandboxFailure: SandboxFailure | null;
      /** The call asked to run outside of the sandbox, and did. */
      leftSandbox?: true;
      /** Nobody was asked, and neither a rule nor a hook allowed the call. */
      unruled?: true;
      /** A permission rule may have allowed the call, and nobody was asked. */
      underRule?: true;
      /** The process reported whether the call ran, and who allowed or denied it. */
      wasReported?: true;
    }
  /** A hook gave a call another input. The process names the tool, not the call; its record of the conversation has both. */
  | { type: 'hook-changed-input'; change: HookInput }
  /** The process itself denied a call; its result follows. */
  | { type: 'call-denied'; toolUseId: string; toolName: string; denial: Denial; reason: string | null }
  /** The result of a call has news of the agent's todo list. */
  | { type: 'todos'; updates: TodoUpdate }
  /** The agent waits for a person. */
  | { type: 'asked'; requestId: string; kind: RequestKind; ask: Ask }
  /**
   * The agent asks something that Callboard does not support. It must be refused at once, or the agent waits forever.
   * `permissionFor`: the tool that it seems to ask permission for, in a shape that cannot be parsed.
   */
  | { type: 'asked-unknown'; requestId: string; subtype: string; permissionFor: string | null }
  | { type: 'withdrawn'; requestId: string }
  /** The conversation's cost and tokens so far, as counted by the process, reported outside of the end of a turn. */
  | { type: 'cost-count'; costUsd: number; tokens: TokenUsage | null }
  /** The account's usage limits, as far as reported. `overall`: null if the report tells of windows alone. */
  | { type: 'usage-limits'; overall: LimitOverall | null; windows: LimitWindow[] }
  /** A control response: the reply to one of our requests, or the echo of the answer that took effect. */
  | { type: 'response'; requestId: string; ok: boolean; response: Record<string, unknown> }
  /**
   * The agent is ready to work. `open` are the requests that it waits for now: ours are checked against these. `unclear` are
   * further requests that cannot be parsed; those with an id must be refused.
   */
  | {
      type: 'initialized';
      mode: string | null;
      open: { requestId: string; kind: RequestKind; ask: Ask }[];
      unclear: { requestId: string | null; subtype: string; raw: unknown }[];
    }
  /** The agent's capabilities, reported when it is ready. */
  | { type: 'offered'; capabilities: Capabilities }
  | { type: 'turn-ended'; end: TurnEnd }
  | {
      type: 'task-started';
      taskId: string;
      toolUseId: string | null;
      description: string;
      taskType: string;
      /** The subagent that started it. */
      parentTaskId?: string;
    }
  /** A task has ended. `isReported`: Claude is told of it, in the running turn or in one that begins by itself; `runId` names that report. */
  | { type: 'task-ended'; taskId: string; runId: string; isReported: boolean }
  /** Claude has been told of the end of a task. */
  | { type: 'task-reported'; runId: string }
  /** A background task has ended, in the process's words. Claude reads it in the running turn, or the process begins a turn for it. */
  | { type: 'task-news'; text: string }
  /** Claude read such news within a turn. */
  | { type: 'task-news-read' }
  /** All background tasks that run now. */
  | { type: 'tasks'; tasks: Pick<BackgroundTask, 'taskId' | 'type' | 'description'>[] }
  /** Streaming text: passed on, never stored. */
  | {
      type: 'delta';
      apiMessageId: string;
      index: number;
      kind: 'text' | 'thinking';
      text: string;
      parentToolUseId: string | null;
    }
  /** The agent begins to write the input of a tool call: passed on, never stored. */
  | { type: 'preparing'; toolName: string; parentToolUseId: string | null }
  /** The tokens used by a model call of the running turn. */
  | { type: 'used'; tokens: TokenUsage }
  /** Something for a person to read in the transcript. */
  | { type: 'notice'; entry: Extract<NewTranscriptEntry, { kind: 'notice' | 'unknown' }> };

/** Events that are passed on live and never stored. */
type PassingEvent = Extract<AgentEvent, { type: 'delta' | 'preparing' }>;
/** Events that change the stored state. */
export type LastingEvent = Exclude<AgentEvent, PassingEvent>;

export type AgentBlock =
  | { kind: 'text'; text: string }
  | { kind: 'thinking'; text: string }
  | { kind: 'tool-use'; toolUseId: string; toolName: string; input: ToolInput }
  /** A block that is not shown, for instance redacted thinking. It keeps its index in the message. */
  | { kind: 'other' };

/** An input that a hook gave a call. */
export interface HookInput {
  /** `before`: before it was decided whether the call may run. `deciding`: with the hook's own decision on a request. */
  when: 'before' | 'deciding';
  toolName: string;
  input: ToolInput;
  /** Identifies what the hook printed, to find it in the record. */
  digest: string;
}

/** What Claude Code's own record says of a hook that ran. */
export interface RecordedHook {
  toolUseId: string;
  /** As `HookInput.digest`. */
  digest: string;
  command: string | null;
}

/** A tool call, or an MCP server's form, that waits for a person's decision. */
export interface Ask {
  toolName: string;
  displayName: string;
  input: ToolInput;
  description: string | null;
  toolUseId: string;
  /** The task id of the subagent that asks. */
  agentId: string | null;
  reason: string | null;
  blockedPath: string | null;
  suggestions: PermissionUpdate[];
  suppressAlwaysAllow: boolean;
  /** The command asks to run outside of the sandbox. */
  leavesSandbox: LeavesSandbox | null;
  /** Whether the file of a `Write` existed when it asked; left out if unknown. */
  fileExists?: boolean;
  /** Hosts that a command in the sandbox usually needs; left out if none are known. */
  hosts?: string[];
  /** How a hook changed the call; left out if Claude wrote it. */
  inputChange?: InputChange;
}

/** Whether the account's limits let the agent go on. */
export type LimitOverall = Pick<UsageLimits, 'status' | 'window' | 'resetsAt' | 'isUsingOverage'>;

/** The usage limit at which a call was refused. */
export type LimitRefusal = Pick<LimitWait, 'window' | 'resetsAt'>;

export interface TurnEnd {
  outcome: 'succeeded' | 'failed' | 'interrupted';
  /** For a person to read; null when there is nothing to add. */
  message: string | null;
  /** A cause that people mend outside of the session. */
  code?: 'not-logged-in' | 'usage-limit';
  /** With `usage-limit`: which one, if the process tells. */
  limit?: LimitRefusal;
  durationMs: number | null;
  /** The cost of the conversation so far, as counted by the process; not the cost of this turn. */
  costUsd: number | null;
  /** Cumulative over the conversation. */
  tokens: TokenUsage | null;
  /** The turn's calls that were denied, whoever denied them. */
  denied?: readonly string[];
  /** The process only took note of something: Claude did nothing. */
  isEmpty?: true;
  /** The call that a hook deferred: it did not run, and the turn ended with it. */
  deferred?: { toolUseId: string; toolName: string };
  /** The messages that the turn worked on, as far as the process reports them. */
  messageIds?: readonly string[];
}

/**
 * Claude's todo list. Which tools keep it depends on the model (seen with CLI 2.1.330): `TodoWrite` replaces it;
 * `TaskCreate`, `TaskUpdate` and `TaskList` change and read single lines; the newest models have neither.
 */

/** What the result of a call says about the list. */
export type TodoUpdate = { kind: 'added'; todo: Todo } | { kind: 'all'; todos: Todo[] };

const TodoWrite = z.object({ todos: z.array(Todo) });
const TaskUpdate = z.object({
  taskId: z.string(),
  subject: z.string().optional(),
  status: z.enum([...Todo.shape.status.options, 'deleted']).optional(),
});

/** Returns the list after a tool call; unchanged for a call that changes no list or cannot be parsed. */
export function todosAfterCall(todos: readonly Todo[], toolName: string, input: ToolInput): readonly Todo[] {
  if (toolName === 'TodoWrite') return TodoWrite.safeParse(input).data?.todos ?? todos;
  if (toolName !== 'TaskUpdate') return todos;
  const { data } = TaskUpdate.safeParse(input);
  if (data === undefined) return todos;
  const { taskId, subject, status } = data;
  return todos.flatMap((todo) => {
    if (todo.id !== taskId) return [todo];
    if (status === 'deleted') return [];
    return [{ ...todo, content: subject ?? todo.content, status: status ?? todo.status }];
  });
}

/** Returns the list after news from a tool result. A line that already exists is only renamed. */
export function todosAfterUpdate(todos: readonly Todo[], updates: TodoUpdate): readonly Todo[] {
  if (updates.kind === 'all') return updates.todos;
  const { id, content } = updates.todo;
  if (!todos.some((todo) => todo.id === id)) return [...todos, updates.todo];
  return todos.map((todo) => (todo.id === id ? { ...todo, content } : todo));
}

/** The fields of a tool's input that say best what a call is about, in this order. */
const SUBJECTS = [
  'file_path',
  'notebook_path',
  'path',
  'command',
  'pattern',
  'url',
  'query',
  'description',
  'skill',
  'prompt',
];

const MAX_SUBJECT_LENGTH = 120;
const MAX_LINE_LENGTH = 200;

/** A tool call in a few words, for the board: "Edit src/app.ts". Paths inside the worktree are shown relative to it. */
export function describeTool(toolName: string, input: ToolInput, worktree: string | null): string {
  const subject = SUBJECTS.map((key) => input[key]).find((value) => typeof value === 'string' && value.trim() !== '');
  if (typeof subject !== 'string') return toolName;
  const near = worktree === null ? subject : subject.replaceAll(`${worktree}/`, '');
  return `${toolName} ${oneLine(near, MAX_SUBJECT_LENGTH)}`;
}

/** The words in one line, cut off with "…" where there are more than `longest` characters. */
export function oneLine(text: string, longest = MAX_LINE_LENGTH): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

/** A field of a tool's input; empty where it is not a text. */
export function textField(input: ToolInput, name: string): string {
  const value = ownProperty(input, name);
  return typeof value === 'string' ? value : '';
}

/** Whether a call with this input runs outside the sandbox. */
export const leavesByInput = (toolName: string, input: Readonly<Record<string, unknown>>): boolean =>
  toolName === 'Bash' && input.dangerouslyDisableSandbox === true;

/**
 * Marks a request that leaves the sandbox and removes the rules it suggests: none can be kept. In a process sandboxed by
 * Callboard the input alone says so, since the CLI then names the rule that made it ask.
 */
export function withLeaving(ask: Ask, isSandboxed: boolean): Ask {
  const leaves = ask.leavesSandbox !== null || (isSandboxed && leavesByInput(ask.toolName, ask.input));
  if (!leaves) return ask;
  const leavesSandbox = ask.leavesSandbox ?? { reason: null };
  return { ...ask, reason: null, suggestions: [], suppressAlwaysAllow: true, leavesSandbox };
}
