import { z } from 'zod';
import { OpenDenial } from './approvals.ts';
import { SpentBudget } from './budgets.ts';
import { ChangeCounts } from './changes.ts';
import { StageCheck } from './checks.ts';
import { LaunchId, StageId } from './ids.ts';
import { LimitWait } from './limits.ts';
import { StageReview } from './review.ts';
import { RewindRecord } from './rewind.ts';
import { ISOLATION_UNKNOWN, Isolation } from './sandbox.ts';

/** What a person says of a background command. */
export const TaskMark = z.enum([
  /** It is work: the stage waits for it, and nobody is asked about it. */
  'work',
  /** It is meant to keep running, such as a dev server or a monitor: nothing waits for it. */
  'keep-running',
]);
export type TaskMark = z.infer<typeof TaskMark>;

/** A task that the CLI runs beside the turn: a background agent, or a Bash command like a dev server. */
export const BackgroundTask = z.object({
  taskId: z.string(),
  /** Claude Code's name: `local_bash` for a command, `local_agent` for a subagent. */
  type: z.string(),
  /** Claude's description. */
  description: z.string(),
  /** The tool call that started it; null if unknown. */
  toolUseId: z.string().nullable().default(null),
  /** The command line, cut if it is long; null for an agent, and if the call is unknown. */
  command: z.string().nullable().default(null),
  /** Null if an older Callboard recorded it. */
  startedAt: z.iso.datetime().nullable().default(null),
  /** Null: nobody said, so the stage waits for it; if it is silent for long, a person is asked once. */
  mark: TaskMark.nullable().default(null),
});
export type BackgroundTask = z.infer<typeof BackgroundTask>;

/** Whether a task runs a command: a dev server, a test run or a monitor. A person can mark it. */
export const isCommandTask = ({ type }: Pick<BackgroundTask, 'type'>): boolean =>
  type === 'local_bash' || type === 'unknown' || type.startsWith('monitor');

/**
 * Returns the background tasks that a stage waits for: its phase ends, its work is checked and merged, and it counts as finished
 * only without them.
 */
export const awaitedTasks = ({ backgroundTasks }: { backgroundTasks: readonly BackgroundTask[] }): BackgroundTask[] =>
  backgroundTasks.filter(({ mark }) => mark !== 'keep-running');

/** Whether the turn is over and only background tasks keep the stage from being finished. Messages are delivered meanwhile. */
export const awaitsTasks = (session: { state: string; backgroundTasks: readonly BackgroundTask[] }): boolean =>
  session.state === 'idle' && awaitedTasks(session).length > 0;

/** What Claude plans to come back to by itself (`ScheduleWakeup`, `CronCreate`). It comes only while the session has a process. */
export const WakeUp = z.object({
  id: z.string(),
  /** Claude's reason, or the prompt that it will get. */
  what: z.string(),
  /** Null: again and again. */
  at: z.iso.datetime().nullable(),
  /** Claude Code keeps it in a file, so it outlives the process. */
  isDurable: z.boolean().default(false),
});
export type WakeUp = z.infer<typeof WakeUp>;

/** The permission modes that a person may choose. The CLI refuses `bypassPermissions` when it runs as root. */
export const PermissionMode = z.enum(['default', 'acceptEdits', 'plan', 'dontAsk', 'auto', 'bypassPermissions']);
export type PermissionMode = z.infer<typeof PermissionMode>;

/**
 * `starting -> busy <-> waiting -> idle -> ended | failed`.
 * `busy`: Claude works, or a check of the finished phase is due or runs (with or without a process).
 * `waiting`: at least one request is open. `idle`: the process runs and waits for a message. `ended`: there is no process.
 * `failed`: the process could not be started. If it died during a turn, the state is `ended` and that turn `interrupted`.
 */
export const SessionState = z.enum(['starting', 'busy', 'waiting', 'idle', 'ended', 'failed']);
export type SessionState = z.infer<typeof SessionState>;

/** Whether Claude itself, or a check of its work, is at work. Such a session counts against the limit of parallel sessions; one that waits for a person does not. */
export const isWorking = (state: SessionState): state is 'starting' | 'busy' =>
  state === 'starting' || state === 'busy';

/** Whether a turn is running: only such a session can be interrupted or steered. */
export const isMidTurn = (state: SessionState): state is 'busy' | 'waiting' => state === 'busy' || state === 'waiting';

/** Whether the session has something to do: it starts, works, or waits for an answer. */
export const isActive = (state: SessionState): state is 'starting' | 'busy' | 'waiting' =>
  isWorking(state) || isMidTurn(state);

/** Whether the session has no process. */
export const hasEnded = (state: SessionState): state is 'ended' | 'failed' => state === 'ended' || state === 'failed';

/** How the newest turn ended. `interrupted`: a person stopped it, or the process died. */
export const TurnOutcome = z.object({
  outcome: z.enum(['succeeded', 'failed', 'interrupted']),
  at: z.iso.datetime(),
  /** An explanation for people; null if there is none. */
  message: z.string().nullable(),
  /** A cause with a remedy of its own; null for any other. `not-logged-in` on this machine; `usage-limit` of the account; the others kept Claude from being started. */
  code: z
    .enum([
      ...(['not-logged-in', 'usage-limit', 'setup-failed', 'fetch-failed', 'settings-invalid'] as const),
      ...(['settings-not-agreed', 'worktree-replaced'] as const),
    ])
    .nullable()
    .default(null),
});
export type TurnOutcome = z.infer<typeof TurnOutcome>;

/** The newest output of a background command, as text with its escape sequences. */
export const TaskOutput = z.object({
  /** Only the end if it is long. */
  output: z.string(),
  totalBytes: z.int().nonnegative(),
  /** Whether the beginning is missing. */
  isCut: z.boolean(),
});
export type TaskOutput = z.infer<typeof TaskOutput>;

/** `unknown`: Claude Code reports a state that Callboard does not know. */
export const McpState = z.enum(['connected', 'pending', 'failed', 'needs-auth', 'disabled', 'unknown']);
export type McpState = z.infer<typeof McpState>;

/** An MCP server, whose tools Claude Code can use. */
export const McpServer = z.object({
  name: z.string(),
  state: McpState,
  /** Why it is not connected, as Claude Code says it. */
  error: z.string().nullable(),
  /** What the server itself printed on its stderr when its start failed; left out if that is not known. */
  stderr: z.string().optional(),
  /** The number of its tools; null while it is not connected. */
  tools: z.int().nonnegative().nullable(),
  /** Where it is configured: `project`, `user`, `local`, or `dynamic` for the command line. */
  scope: z.string().nullable(),
});
export type McpServer = z.infer<typeof McpServer>;

/** How full the model's context is. */
export const ContextUsage = z.object({ usedTokens: z.number(), maxTokens: z.number(), percentage: z.number() });
export type ContextUsage = z.infer<typeof ContextUsage>;

/** Totals of the conversation, over all models. */
export const TokenUsage = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheCreation: z.number(),
});
export type TokenUsage = z.infer<typeof TokenUsage>;

/** The usage of the running turn so far, as last reported by the CLI: updated every few seconds, exact only at the turn's end. */
export const TurnUsage = z.object({ costUsd: z.number(), tokens: TokenUsage });
export type TurnUsage = z.infer<typeof TurnUsage>;

/** An item of Claude's todo list. */
export const Todo = z.object({
  /** Claude's id for it; null if Claude always rewrites the whole list. */
  id: z.string().nullable().default(null),
  content: z.string(),
  status: z.enum(['pending', 'in_progress', 'completed']),
});
export type Todo = z.infer<typeof Todo>;

/** The repository settings that a launch left out because nobody had agreed to them. */
export const LeftOut = z.object({
  /** A short summary: "2 hooks, 1 MCP server". */
  summary: z.string(),
  /** Commands, agents and skills of the repository that are missing without its settings. */
  unavailable: z.array(z.string()),
});
export type LeftOut = z.infer<typeof LeftOut>;

/** The CLI's names. */
export const Effort = z.enum(['low', 'medium', 'high', 'xhigh', 'max']);
export type Effort = z.infer<typeof Effort>;

/** An action that came from neither a person nor Callboard. */
export const AlarmCode = z.enum([
  /** Something else answered a request. */
  'foreign-answer',
  /** Something else sent a control request to Claude Code, for its settings or MCP servers. */
  'foreign-control',
  'foreign-message',
  /** The permission mode changed without a person's action. */
  'foreign-mode',
  /** The output has lines that Claude Code cannot have printed. */
  'forged-output',
  /** A tool ran under a permission rule that nobody added. */
  'foreign-rule',
  /** A hook allowed a tool although nobody agreed to that hook. */
  'foreign-hook',
  /** The transcript and the conversation differ. */
  'transcript-mismatch',
  'used-login',
  'foreign-store',
]);
export type AlarmCode = z.infer<typeof AlarmCode>;

/**
 * Something other than a person or Callboard acted on the session. Its process was stopped, and the session does not
 * continue until a person acknowledges the alarm.
 */
export const SessionAlarm = z.object({
  code: AlarmCode,
  at: z.iso.datetime(),
  /** For people: what was seen, what it means, and what to do next. */
  detail: z.string(),
});
export type SessionAlarm = z.infer<typeof SessionAlarm>;

/** The conversation was left to a terminal: Callboard starts no process for it until it is taken back. */
export const SessionTerminal = z.object({
  since: z.iso.datetime(),
  /** The person who continues it there. */
  by: z.string(),
});
export type SessionTerminal = z.infer<typeof SessionTerminal>;

/** A finer account of a turn in which Claude itself is at work. Not stored: it is sent while it lasts (`session-now`). */
export const LiveNow = z.discriminatedUnion('kind', [
  /** Claude writes to the person. `text`: the beginning of the sentence that it writes, as one plain line of at most 120 characters; empty while it writes code. */
  z.object({ kind: z.literal('writing'), text: z.string() }),
  /** Claude writes the input of a tool call, for instance the content of a file. */
  z.object({ kind: z.literal('preparing'), toolName: z.string() }),
]);
export type LiveNow = z.infer<typeof LiveNow>;

/** What a session does at this moment. */
export const SessionNow = z.discriminatedUnion('kind', [
  /** Claude is at work, and runs no tool. */
  z.object({ kind: z.literal('thinking'), since: z.iso.datetime() }),
  /** A tool call runs. With several, the one that began first. */
  z.object({
    kind: z.literal('tool'),
    toolUseId: z.string(),
    /** The command of a shell; otherwise the tool and its subject ("Edit src/app.ts"). */
    action: z.string(),
    isCommand: z.boolean(),
    /** When it began to run; for a call that a person allowed, when it was allowed. */
    since: z.iso.datetime(),
  }),
  /** Claude's own review of the changes runs. */
  z.object({ kind: z.literal('review'), since: z.iso.datetime() }),
  /** A check of the finished phase runs. */
  z.object({ kind: z.literal('check'), command: z.string(), since: z.iso.datetime() }),
  /** The turn is over, and a background command still runs. With several, the oldest one that the stage waits for. */
  z.object({
    kind: z.literal('background'),
    taskId: z.string(),
    /** The command; if it is unknown, what Claude Code calls the task. */
    action: z.string(),
    isCommand: z.boolean(),
    since: z.iso.datetime(),
    /** How many other tasks run in the background. */
    others: z.int().nonnegative(),
  }),
  ...LiveNow.options,
]);
export type SessionNow = z.infer<typeof SessionNow>;

/** What the board shows of a session. */
export const SessionSummary = z.object({
  stageId: StageId,
  state: SessionState,
  /** When the session entered `state`. */
  stateSince: z.iso.datetime(),
  /** The mode that the CLI last reported; until then, the requested one. */
  mode: z.string(),
  model: z.string().nullable(),
  /** The CLI's newest conversation id: what `claude --resume` takes. */
  sessionId: z.string().nullable(),
  launchId: LaunchId.nullable(),
  startedAt: z.iso.datetime(),
  lastTurn: TurnOutcome.nullable(),
  /**
   * What it does at this moment; null between turns without work in the background, and while it only waits for a person. Stored events never say `writing` or
   * `preparing`: `session-now` tells that `thinking` is one of these.
   */
  now: SessionNow.nullable().default(null),
  /** Claude's last action, in a few words ("Edit src/app.ts"). */
  lastAction: z.string().nullable(),
  /** For all turns that were reported to their end; the cost of a turn whose process was killed is unknown. */
  costUsd: z.number(),
  tokens: TokenUsage.nullable().default(null),
  /** Null between turns: `costUsd` and `tokens` then include everything. */
  turnUsage: TurnUsage.nullable().default(null),
  contextUsage: ContextUsage.nullable().default(null),
  effort: z.string().nullable().default(null),
  todos: z.array(Todo).default([]),
  /** The worktree's changes at the end of the newest turn; null until they are counted. */
  changes: ChangeCounts.nullable().default(null),
  /** The current phase of the stage's pipeline, from 0. */
  phaseIndex: z.int().nonnegative().default(0),
  /** The phase is finished, and a person must start the next one; or its check did not pass, and a person must decide. */
  atGate: z.boolean().default(false),
  /** The newest check of the phase; null before the first. */
  check: StageCheck.nullable().default(null),
  /** Claude's review in the current phase; null if that is none, or has not begun. */
  review: StageReview.nullable().default(null),
  backgroundTasks: z.array(BackgroundTask),
  wakeUps: z.array(WakeUp).default([]),
  /** As Claude Code last reported: at the beginning of a turn, or on request. Empty without a process. */
  mcpServers: z.array(McpServer.pick({ name: true, state: true })).default([]),
  /** The version of Claude Code, as of the start or reported since; null if unknown. */
  cliVersion: z.string().nullable().default(null),
  /** Features that Callboard relies on and that version lacks, for people. */
  cliGaps: z.array(z.string()).default([]),
  /**
   * Since when a session that should be working has been silent; null if all is well. For one that only waits for background commands,
   * a person is asked whether they are meant to keep running.
   */
  stalledSince: z.iso.datetime().nullable().default(null),
  /** The number of calls that Claude Code denied because of its mode, a rule or a hook. Denials by people do not count. */
  denials: z.int().nonnegative().default(0),
  /** Set if Claude Code denied a turn's last call, until a person sends a message or acknowledges it. */
  openDenial: OpenDenial.nullable().default(null),
  /** Null without an alarm, and once a person has acknowledged it. The first alarm stays until then. */
  alarm: SessionAlarm.nullable().default(null),
  /** A spent budget interrupted the turn, or keeps what is queued waiting; null once a person continues, or raises the budget. */
  spentBudget: SpentBudget.nullable().default(null),
  /** Null unless a person continues the conversation in a terminal. */
  terminal: SessionTerminal.nullable().default(null),
  /** Set if the last turn failed at a usage limit, until the stage goes on. */
  limitWait: LimitWait.nullable().default(null),
  /** Work that is due waits because the stage is on hold: a queued message, the next phase, or going on after an interrupt. */
  withheld: z.boolean().default(false),
  /** Null if the newest launch left nothing out, or there was nothing to agree to. */
  leftOut: LeftOut.nullable().default(null),
  isolation: Isolation.default(ISOLATION_UNKNOWN),
  /** The number of commands that ran without asking because they ran in the sandbox. */
  sandboxAllowed: z.int().nonnegative().default(0),
  /** The times that a person went back and that were not undone, oldest first. */
  goneBack: z.array(RewindRecord).default([]),
  /** Files are being set back, or brought back: nothing starts meanwhile. */
  isGoingBack: z.boolean().default(false),
  /** The number of queued messages. */
  queued: z.int().nonnegative(),
  /** True after a failed or interrupted turn and after an alarm: queued messages wait for a person. */
  queueHeld: z.boolean(),
  /** The queue has been held since an alarm that a person has acknowledged. */
  heldSinceAlarm: z.boolean().default(false),
  /** The number of processes that outlived it, at the last check. `get_leftovers` returns those that still run. */
  leftovers: z.int().nonnegative().default(0),
});
export type SessionSummary = z.infer<typeof SessionSummary>;

/** Returns what Claude will come back to by itself, the next one first. Without a process, nothing wakes it. */
export function comingWakeUps(
  { wakeUps, launchId }: Pick<SessionSummary, 'wakeUps' | 'launchId'>,
  now: Date,
): WakeUp[] {
  if (launchId === null) return [];
  const coming = wakeUps.filter(({ at }) => at === null || Date.parse(at) > now.getTime());
  return coming.toSorted((a, b) => (a.at ?? '9').localeCompare(b.at ?? '9'));
}

/** Quotes a path or a word as one argument of a POSIX shell, if that is necessary. */
export const shellQuote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Returns what continues a conversation in a terminal. @param folder the worktree: Claude Code finds a conversation only from there */
export const resumeCommand = (folder: string, conversationId: string): string =>
  `cd ${shellQuote(folder)} && claude --resume ${shellQuote(conversationId)}`;

/** A process of Claude Code, by what tells it from any other that had its number. */
export const ClaudeProcess = z.object({ stageId: StageId, pid: z.int(), startedAt: z.iso.datetime() });
export type ClaudeProcess = z.infer<typeof ClaudeProcess>;
