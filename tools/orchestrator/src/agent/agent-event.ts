import type {
  BackgroundTask,
  Capabilities,
  Denial,
  LeavesSandbox,
  NewTranscriptEntry,
  PermissionUpdate,
  RequestKind,
  SandboxFailure,
  SessionSummary,
  TokenUsage,
  ToolInput,
} from '@callboard/contract';
import type { TodoNews } from './todos.ts';

/** What an agent's process tells, in our own words. Only `claude/translate.ts` knows how the CLI says it. */
export type AgentEvent =
  /** The conversation's newest id; it changes when a person clears the conversation. */
  | { type: 'conversation'; sessionId: string }
  /** A hook of the repository or the user kept the message from the model; the turn then ends as if all were well. */
  | { type: 'prompt-blocked'; reason: string }
  /** The conversation that was to be resumed is not there any more. */
  | { type: 'conversation-lost' }
  /** A turn begins; the CLI also begins turns of its own, for instance when a background agent has finished. */
  | {
      type: 'turn-started';
      model: string | null;
      mode: string | null;
      version?: string | null;
      messageIds: readonly string[];
      /** Not where it does not tell of them. */
      mcpServers?: SessionSummary['mcpServers'];
      /** It goes without the memory and the hooks of settings files. */
      isMinimal?: true;
    }
  | { type: 'mode-changed'; mode: string }
  /** The process has taken a message of a person; null: its id, or its text, was not told. */
  | { type: 'message-echoed'; messageId: string | null; text: string | null }
  /** Another session of the same account has sent a message; `from` is what that one calls itself. */
  | { type: 'peer-message'; messageId: string; from: string; text: string }
  /** It has printed what a command of its own says, in the shape of a message. */
  | { type: 'command-output' }
  /** A line that the process does not print by itself. */
  | { type: 'forged-line' }
  /** The process has done what something asked that gave no id, which nobody here does. */
  | { type: 'reply-to-nobody' }
  /** `consumed`: the model reads it in the turn that runs now. */
  | { type: 'message-progress'; messageId: string; progress: 'consumed' | 'finished' | 'cancelled' }
  /** A content block of a model message is complete. */
  | { type: 'block'; apiMessageId: string; parentToolUseId: string | null; block: AgentBlock }
  | {
      type: 'tool-result';
      parentToolUseId: string | null;
      toolUseId: string;
      isError: boolean;
      text: string;
      /** `hook`: a hook allowed it, and nobody was asked. */
      allowedBy: 'hook' | null;
      /** The sandbox kept it from something, or it looks like that. */
      sandboxFailure: SandboxFailure | null;
      /** It was to run outside of the sandbox, and did. */
      leftSandbox?: true;
      /** Nobody was asked, and neither a rule nor a hook allowed it. */
      unruled?: true;
      /** A permission rule may have allowed it, and nobody was asked. */
      underRule?: true;
      /** It is known whether it ran, and who let it or did not. */
      isTold?: true;
    }
  /** The process itself denied a call; its result follows. */
  | { type: 'call-denied'; toolUseId: string; toolName: string; denial: Denial; reason: string | null }
  /** The result of a call told of the list of what the agent has to do. */
  | { type: 'todos'; news: TodoNews }
  /** The agent waits for a person. */
  | { type: 'asked'; requestId: string; kind: RequestKind; ask: Ask }
  /**
   * The agent asks something that nobody here answers; it must be refused at once, or it waits for ever. `permissionFor`:
   * the tool that it seems to ask permission for, in a way that is not understood.
   */
  | { type: 'asked-unknown'; requestId: string; subtype: string; permissionFor: string | null }
  | { type: 'withdrawn'; requestId: string }
  /** What the process says that the conversation has cost by its count, outside of the end of a turn. */
  | { type: 'cost-count'; costUsd: number }
  /** A control response: the reply to a request of ours, or the echo of an answer of ours that counted. */
  | { type: 'response'; requestId: string; ok: boolean; response: Record<string, unknown> }
  /**
   * The agent is ready to work; `open` are the requests that it waits for now: the truth that ours are checked against.
   * `unclear`: what else it says to wait for, which must be refused as far as it has an id.
   */
  | {
      type: 'initialized';
      mode: string | null;
      open: { requestId: string; kind: RequestKind; ask: Ask }[];
      unclear: { requestId: string | null; subtype: string; raw: unknown }[];
    }
  /** What the agent offers, told when it is ready. */
  | { type: 'offered'; capabilities: Capabilities }
  | { type: 'turn-ended'; end: TurnEnd }
  | { type: 'task-started'; taskId: string; toolUseId: string | null; description: string; taskType: string }
  /** All background tasks there are now. */
  | { type: 'tasks'; tasks: Pick<BackgroundTask, 'taskId' | 'type' | 'description'>[] }
  /** Text while it streams: passed on, never stored. */
  | {
      type: 'delta';
      apiMessageId: string;
      index: number;
      kind: 'text' | 'thinking';
      text: string;
      parentToolUseId: string | null;
    }
  /** What a model call of the running turn has used: passed on, never stored by itself. */
  | { type: 'used'; tokens: TokenUsage }
  /** Something a person should be able to read in the transcript. */
  | { type: 'notice'; entry: Extract<NewTranscriptEntry, { kind: 'notice' | 'unknown' }> };

/** Those that are passed on live and never stored. */
type PassingEvent = Extract<AgentEvent, { type: 'delta' | 'used' }>;
/** Those that change what is stored. */
export type LastingEvent = Exclude<AgentEvent, PassingEvent>;

export type AgentBlock =
  | { kind: 'text'; text: string }
  | { kind: 'thinking'; text: string }
  | { kind: 'tool-use'; toolUseId: string; toolName: string; input: ToolInput }
  /** A block we show nothing of (redacted thinking, say); it counts as a place in the message all the same. */
  | { kind: 'other' };

/** A tool call, or an MCP server's form, that waits for a person's word. */
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
}

export interface TurnEnd {
  outcome: 'succeeded' | 'failed' | 'interrupted';
  /** In words for a person; null where there is nothing to add. */
  message: string | null;
  durationMs: number | null;
  /** What the process has counted for the conversation so far, not what this turn has cost. */
  costUsd: number | null;
  /** Cumulative over the conversation. */
  tokens: TokenUsage | null;
  /** Calls of the turn that were denied, by whomever. */
  denied?: readonly string[];
  /** The messages that it worked on, as far as that is told. */
  messageIds?: readonly string[];
}
