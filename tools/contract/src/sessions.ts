import { z } from 'zod';
import { OpenDenial } from './denials.ts';
import { ChangeCounts } from './diff.ts';
import { LaunchId, StageId } from './ids.ts';
import { ISOLATION_UNKNOWN, Isolation } from './sandbox.ts';

/** The permission modes that a person may choose. `bypassPermissions` is refused by the CLI when it runs as root. */
export const PermissionMode = z.enum(['default', 'acceptEdits', 'plan', 'dontAsk', 'auto', 'bypassPermissions']);
export type PermissionMode = z.infer<typeof PermissionMode>;

/**
 * `starting -> busy <-> waiting -> idle -> ended | failed`.
 * `waiting`: at least one request is open. `idle`: the process lives and waits for a message. `ended`: no process.
 * `failed`: the process could not be started. One that died at work is `ended`, and its last turn `interrupted`.
 */
export const SessionState = z.enum(['starting', 'busy', 'waiting', 'idle', 'ended', 'failed']);
export type SessionState = z.infer<typeof SessionState>;

/** Whether Claude itself is at work. Such a session counts against the limit of parallel sessions; one that waits for a person does not. */
export const isWorking = (state: SessionState): state is 'starting' | 'busy' =>
  state === 'starting' || state === 'busy';

/** Whether a turn is running: only such a session can be interrupted or steered. */
export const isMidTurn = (state: SessionState): state is 'busy' | 'waiting' => state === 'busy' || state === 'waiting';

/** Whether the session has something to do: it starts, works, or waits for an answer. */
export const isActive = (state: SessionState): state is 'starting' | 'busy' | 'waiting' =>
  isWorking(state) || isMidTurn(state);

/** Whether the session has no process. */
export const hasEnded = (state: SessionState): state is 'ended' | 'failed' => state === 'ended' || state === 'failed';

/** How the newest turn ended. `interrupted`: a person stopped it, or the process died in it. */
export const TurnOutcome = z.object({
  outcome: z.enum(['succeeded', 'failed', 'interrupted']),
  at: z.iso.datetime(),
  /** In words for a person; null when there is nothing to add. */
  message: z.string().nullable(),
});
export type TurnOutcome = z.infer<typeof TurnOutcome>;

/** A task the CLI runs beside the turn: a background agent, or a Bash command such as a dev server. */
export const BackgroundTask = z.object({
  taskId: z.string(),
  /** As Claude Code names it: `local_bash` for a command, `local_agent` for a subagent. */
  type: z.string(),
  /** What Claude called it. */
  description: z.string(),
  /** The tool call that started it; null where that is not known. */
  toolUseId: z.string().nullable().default(null),
  /** What a command runs, cut when it is long; null for an agent, and where the call is not known. */
  command: z.string().nullable().default(null),
  /** Null where an older Callboard took it in. */
  startedAt: z.iso.datetime().nullable().default(null),
});
export type BackgroundTask = z.infer<typeof BackgroundTask>;

/** The newest output of a background command, as text: escape sequences are left in. */
export const TaskOutput = z.object({
  /** Its end, where it is long. */
  output: z.string(),
  totalBytes: z.int().nonnegative(),
  /** Something came before `output`. */
  isCut: z.boolean(),
});
export type TaskOutput = z.infer<typeof TaskOutput>;

/** `unknown`: Claude Code names a state that Callboard does not know. */
export const McpState = z.enum(['connected', 'pending', 'failed', 'needs-auth', 'disabled', 'unknown']);
export type McpState = z.infer<typeof McpState>;

/** A server of tools that Claude Code talks to. */
export const McpServer = z.object({
  name: z.string(),
  state: McpState,
  /** Why it is not connected, in the words of Claude Code. */
  error: z.string().nullable(),
  /** How many tools it offers; null while it is not connected. */
  tools: z.int().nonnegative().nullable(),
  /** Where its settings stand: `project`, `user`, `local`, `dynamic` for those of a command line. */
  scope: z.string().nullable(),
});
export type McpServer = z.infer<typeof McpServer>;

/** How full the model's context is. */
export const ContextUsage = z.object({ usedTokens: z.number(), maxTokens: z.number(), percentage: z.number() });
export type ContextUsage = z.infer<typeof ContextUsage>;

/** Cumulative over the conversation, over all models. */
export const TokenUsage = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheCreation: z.number(),
});
export type TokenUsage = z.infer<typeof TokenUsage>;

/** What the running turn has used so far, as the CLI last told: it moves every few seconds, and is exact only at the turn's end. */
export const TurnUsage = z.object({ costUsd: z.number(), tokens: TokenUsage });
export type TurnUsage = z.infer<typeof TurnUsage>;

/** A line of the list that Claude keeps of what it has to do. */
export const Todo = z.object({
  /** What Claude calls it; null on a list that is always written whole. */
  id: z.string().nullable().default(null),
  content: z.string(),
  status: z.enum(['pending', 'in_progress', 'completed']),
});
export type Todo = z.infer<typeof Todo>;

/** What of the repository's own settings a launch went without, since nobody had agreed to it. */
export const LeftOut = z.object({
  /** In a few words: "2 hooks, 1 MCP server". */
  summary: z.string(),
  /** Commands, agents and skills of the repository that are not there without its settings. */
  unavailable: z.array(z.string()),
});
export type LeftOut = z.infer<typeof LeftOut>;

/** As the CLI names them. */
export const Effort = z.enum(['low', 'medium', 'high', 'xhigh', 'max']);
export type Effort = z.infer<typeof Effort>;

/** What was seen that neither a person nor Callboard did. */
export const AlarmCode = z.enum([
  /** A request was answered by something else. */
  'foreign-answer',
  /** A control request was sent to Claude Code by something else: its settings, its tool servers. */
  'foreign-control',
  /** Claude was given a message that nobody sent. */
  'foreign-message',
  /** The permission mode changed, and nobody changed it. */
  'foreign-mode',
  /** Lines that Claude Code cannot have printed. */
  'forged-output',
  /** A tool ran under a permission rule that nobody gave. */
  'foreign-rule',
  /** A hook that nobody agreed to allowed a tool. */
  'foreign-hook',
  /** What the transcript shows is not what the conversation holds. */
  'transcript-mismatch',
]);
export type AlarmCode = z.infer<typeof AlarmCode>;

/**
 * Something other than a person or Callboard acted on the session. Its process was stopped, and nothing of the session
 * goes on before a person has acknowledged it.
 */
export const SessionAlarm = z.object({
  code: AlarmCode,
  at: z.iso.datetime(),
  /** What was seen, what it means and what to do next, in words for a person. */
  detail: z.string(),
});
export type SessionAlarm = z.infer<typeof SessionAlarm>;

/** What the board shows of a session. */
export const SessionSummary = z.object({
  stageId: StageId,
  state: SessionState,
  /** When `state` was entered. */
  stateSince: z.iso.datetime(),
  /** The mode that the CLI last reported; the asked-for one until then. */
  mode: z.string(),
  model: z.string().nullable(),
  /** The CLI's newest conversation id: what `claude --resume` takes. */
  sessionId: z.string().nullable(),
  launchId: LaunchId.nullable(),
  startedAt: z.iso.datetime(),
  lastTurn: TurnOutcome.nullable(),
  /** The last thing Claude did, in a few words ("Edit src/app.ts"). */
  lastAction: z.string().nullable(),
  /** Of all turns that were told to their end; what a turn had cost whose process was killed is not known. */
  costUsd: z.number(),
  tokens: TokenUsage.nullable().default(null),
  /** Null between turns: `costUsd` and `tokens` then hold all of it. */
  turnUsage: TurnUsage.nullable().default(null),
  contextUsage: ContextUsage.nullable().default(null),
  effort: z.string().nullable().default(null),
  todos: z.array(Todo).default([]),
  /** What the worktree had changed when the newest turn ended; null until it was counted. */
  changes: ChangeCounts.nullable().default(null),
  /** Which phase of the stage's pipeline it works on, from 0. */
  phaseIndex: z.int().nonnegative().default(0),
  /** The phase is finished, and a person has to let the next one begin. */
  atGate: z.boolean().default(false),
  backgroundTasks: z.array(BackgroundTask),
  /** As Claude Code last told: at the beginning of a turn, or when somebody asked. Empty without a process. */
  mcpServers: z.array(McpServer.pick({ name: true, state: true })).default([]),
  /** The version of Claude Code that it was started with, or has told since; null where that is not known. */
  cliVersion: z.string().nullable().default(null),
  /** What that version does not do although Callboard relies on it, in short words for a person. */
  cliGaps: z.array(z.string()).default([]),
  /** Since when nothing at all was heard of a session that should be working; null when all is as it should be. */
  stalledSince: z.iso.datetime().nullable().default(null),
  /** How many calls Claude Code itself has denied, by its mode, a rule or a hook. Those that a person denied do not count. */
  denials: z.int().nonnegative().default(0),
  /** Set when a turn's last call was denied so, until a person sends a message or takes note of it. */
  openDenial: OpenDenial.nullable().default(null),
  /** Null while nothing is wrong, and once a person has acknowledged what was. The first one stands. */
  alarm: SessionAlarm.nullable().default(null),
  /** Null where the newest launch went with everything, or there was nothing to agree to. */
  leftOut: LeftOut.nullable().default(null),
  isolation: Isolation.default(ISOLATION_UNKNOWN),
  /** How many commands ran without a question because they ran in the sandbox. */
  sandboxAllowed: z.int().nonnegative().default(0),
  /** How many messages wait in the queue. */
  queued: z.int().nonnegative(),
  /** True after a failed or interrupted turn, and after an alarm: queued messages wait for a person. */
  queueHeld: z.boolean(),
  /** It is held since the session was under alarm, which a person has acknowledged. */
  heldSinceAlarm: z.boolean().default(false),
  /** How many processes had outlived it when that was last looked at. Which of them still run is asked for. */
  leftovers: z.int().nonnegative().default(0),
});
export type SessionSummary = z.infer<typeof SessionSummary>;

/** A process that has outlived the session that started it. */
export const LeftProcess = z.object({
  pid: z.int().positive(),
  /** What it was called with, cut when it is long. */
  command: z.string(),
  startedAt: z.iso.datetime(),
});
export type LeftProcess = z.infer<typeof LeftProcess>;
