import {
  AlarmCode,
  Attachment,
  BackgroundTask,
  CheckRun,
  type LaunchId,
  LimitWait,
  type MessageId,
  OpenDenial,
  ReviewComment,
  RewindRecord,
  SessionSummary,
  StageId,
  StageMerge,
  ToolInput,
} from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { z } from 'zod';

/** What sessions store of going back to an earlier message (docs/decisions/rewind.md). */

/** A conversation that another one begins as a copy of, up to a line (`until`; null: all of it). */
const ForkOf = z.object({ fork: z.string(), until: z.string().nullable() });

/** What of a session belongs to its conversation, and goes back with it. */
export const ConversationState = SessionSummary.pick({
  sessionId: true,
  phaseIndex: true,
  atGate: true,
  check: true,
  todos: true,
  contextUsage: true,
  lastTurn: true,
  openDenial: true,
  queueHeld: true,
}).extend({
  forkOf: ForkOf.nullable(),
  turnMessages: z.array(z.string()),
  turnToFollow: z.boolean(),
  costCounted: z.number().nullable(),
  tokensCounted: z.number().nullable().default(null),
});
export type ConversationState = z.infer<typeof ConversationState>;

export const Rewinding = z.object({
  kind: z.enum(['rewind', 'undo']),
  /** The going back, or the one that is undone. */
  entry: RewindRecord,
  by: z.string(),
  /** The commit that the files are set to, and the one that keeps the present ones; null: the files stay. */
  files: z.object({ target: z.string(), kept: z.string() }).nullable(),
  /** What the conversation is set to; null: it stays. */
  conversation: ConversationState.nullable(),
  /** Files that stayed as they were; known once the others are set. */
  blocked: z.array(z.string()).default([]),
});
export type Rewinding = z.infer<typeof Rewinding>;

const UndoRewind = z.object({
  /** The commit that keeps the files as they were; null: the files stayed. */
  files: z.string().nullable(),
  conversation: ConversationState.nullable(),
});

/** The files of a worktree when a turn had ended, before the next one began. */
export interface TurnMark {
  /** When the turn ended, or a person went back. */
  at: string;
  tree: string;
  /** The commit on a hidden ref that has the files; null: an older Callboard kept none. */
  commit: string | null;
  /** The newest transcript entry at that time; null in marks of an older Callboard. */
  place: number | null;
  /** Claude Code's id of the conversation at that time. */
  conversationId: string | null;
  phaseIndex: number;
}

/** Stored types that are not in the contract. */

/** A stored session: what the board shows, and the state needed to continue with the CLI's lines after a restart. */
export const SessionRecord = SessionSummary.extend({
  /**
   * The conversation that its own begins as a copy of, up to that line (`until`; null: all of it). It stays when the copy exists: a
   * process that dies before it has written the copy leaves nothing to resume.
   */
  forkOf: ForkOf.nullable().default(null),
  /** Index of the newest transcript entry; 0 for none. */
  transcriptLength: z.int().nonnegative(),
  /** Claude works on a message: from the moment it is given to the launch until its `result`. */
  turnRunning: z.boolean(),
  /** The CLI has begun a turn and not ended it. If false, a message given to it can be taken back, and no `result` follows. */
  turnBegun: z.boolean().default(false),
  /**
   * Outbox rows of the messages in the running turn; if its process died during the turn, of those that the conversation
   * lacks. The CLI writes its transcript slightly after it reports that it has read a message (seen after SIGKILL), so
   * the next launch gets those again.
   */
  turnMessages: z.array(z.string()).default([]),
  /** The messages of the last turn, if it ended well: a SIGKILL right after it loses what the transcript does not hold yet. */
  lastTurnMessages: z.array(z.string()).default([]),
  /** Wire ids of the messages that the CLI joined into the prompt of the newest turn; its conversation has only the last id. */
  joinedMessages: z.array(z.string()).default([]),
  /** The end of the turn after which `changes` was counted; null before the first count. */
  changesCountedFor: z.string().nullable().default(null),
  /** Why a hook kept the message of the running turn from the model; null if none did. */
  promptBlocked: z.string().nullable().default(null),
  /**
   * How much of the CLI's cost counter has been recorded; anything above it belongs to the next turn. It goes back when
   * the CLI loses its count: at `/clear`, and to the value at the start of its process when that is killed. Null: the
   * process died, so the next one is asked.
   */
  costCounted: z.number().nullable().default(null),
  /** The same for the tokens that the ledger counts. Null: unknown, so what `tokens` says counts as recorded. */
  tokensCounted: z.number().nullable().default(null),
  /** A person continued beyond the spent budgets: until the turn ends, none keeps it from its work. */
  beyondBudget: z.boolean().default(false),
  /** A turn of the phase has ended well, and the pipeline has not followed it yet. */
  turnToFollow: z.boolean().default(false),
  /** The state of the newest launch; `failed`: its process could not be started. */
  launchState: z.enum(['starting', 'live', 'ended', 'failed']),
  /** How many content blocks of each recent model message were printed. The keys are those of the stream events. */
  blocks: z.record(z.string(), z.int()),
  /** Codes of everything seen since the alarm was raised: each is reported once. */
  seenAlarms: z.array(AlarmCode).default([]),
  /** Messages that the process accepted but nobody here sent, if other sessions may send some: the next line names the sender. */
  strangers: z.array(z.string()).default([]),
  /** Messages of Claude Code's own, by which it woke Claude. */
  wakeUpMessages: z.array(z.string()).default([]),
  /** Tool calls without an outcome, by id: a denial does not always name its call. */
  calls: z.record(z.string(), z.object({ toolName: z.string(), asked: z.string() })).default({}),
  /** Tool calls that run or wait for a person, in the order in which Claude made them; only the newest ones. */
  running: z
    .array(
      z.object({
        toolUseId: z.string(),
        parentToolUseId: z.string().nullable(),
        toolName: z.string(),
        action: z.string(),
        isCommand: z.boolean(),
        since: z.iso.datetime(),
        /** A person is asked whether it may run. */
        isAsking: z.boolean(),
      }),
    )
    .default([]),
  /** Inputs that hooks gave to calls, until the transcript says so. `toolUseId`: null until the call is known. */
  hookInputs: z
    .array(
      z.object({
        when: z.enum(['before', 'deciding']),
        toolName: z.string(),
        input: ToolInput,
        digest: z.string(),
        conversationId: z.string().nullable(),
        toolUseId: z.string().nullable(),
      }),
    )
    .default([]),
  /** Hosts that a person allowed with a call, by the call, until its command has ended. */
  hostGrants: z.record(z.string(), z.array(z.string())).default({}),
  /** The hosts that its process was told to open beside those of its launch; null: it was told of none. */
  openHosts: z.array(z.string()).nullable().default(null),
  /** Those that the transcript has, as `<toolUseId> <digest>`; only the newest ones. */
  hookInputsShown: z.array(z.string()).default([]),
  /** The newest tool call, and what denied it in Claude Code; null after the next message from a person. */
  lastCall: z.object({ toolUseId: z.string(), denial: OpenDenial.nullable() }).nullable().default(null),
  /** The call that a hook deferred in that launch, until Claude goes on without it. */
  deferred: z.object({ toolUseId: z.string(), asked: z.string(), launchId: z.string() }).nullable().default(null),
  /** The id under which the process itself took up a deferred call, as if it were a message. */
  ownMessage: z.string().nullable().default(null),
  /** Background tasks that have ended and that Claude has not read of, in Claude Code's words; only the newest ones. */
  taskNews: z.array(z.string()).default([]),
  /** What the process began the running turn for, until Claude does something in it; null for a person's message. */
  wokenBy: z.string().nullable().default(null),
  /** Running subagents by task id: the tool call that started them, and their name. */
  agents: z.record(
    z.string(),
    z.object({
      toolUseId: z.string(),
      description: z.string(),
      /** The subagent that started it, by its task id; null for the main conversation. */
      parent: z.string().nullable().default(null),
    }),
  ),
  /** How tasks were started, by task id, including foreground tasks; only the newest ones. */
  taskStarts: z
    .record(z.string(), BackgroundTask.pick({ toolUseId: true, command: true, startedAt: true }))
    .default({}),
  /** The permission mode before Claude last began to plan; null if it never worked in another one. */
  modeBeforePlan: z.string().nullable().default(null),
  /** Ends of background tasks that Claude is not told of yet: the CLI begins a turn for each by itself. */
  reports: z.array(z.string()).default([]),
  /** Commands that a person marked as meant to keep running, the newest last: Claude may start one again. */
  keptCommands: z.array(z.string()).default([]),
  /** The usage limit at which Claude Code last refused a call of the running turn; null: none did. */
  refusedBy: LimitWait.pick({ window: true, resetsAt: true }).nullable().default(null),
  /** How often in a row the stage met a limit that should have reset by then. */
  limitTries: z.int().nonnegative().default(0),
  /**
   * Its turn is interrupted because the stage was put on hold. `asked`: stored before the process is asked; `interrupted`: it goes on
   * when the stage is released.
   */
  holdInterrupt: z.enum(['asked', 'interrupted']).nullable().default(null),
  /** A person goes back, or undoes that: stored before anything changes, and removed with the result. */
  goingBack: Rewinding.nullable().default(null),
  /** The record that Claude Code keeps of the conversation, as it was when a process that wrote it had ended; null: not known. */
  conversationRecord: z
    .object({ sessionId: z.string(), bytes: z.int(), brokenLines: z.int() })
    .nullable()
    .default(null),
  /** What the newest going back can be undone with; null: there is none, or a message was sent since. */
  undo: UndoRewind.nullable().default(null),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

/** Returns the public part of a record. */
export const summaryOf = (record: SessionRecord): SessionSummary =>
  Object.fromEntries(SUMMARY.map((field): unknown[] => [field, record[field]]));
const SUMMARY = SessionSummary.keyof().options;

/**
 * A merge, or the undoing of one, that was begun: stored before git runs, and removed with its result. After a crash, git tells
 * what became of it.
 */
export const MergeIntent = z.object({
  stageId: StageId,
  /** Marks the git that does it. */
  id: z.string(),
  kind: z.enum(['merge', 'undo']),
  /** `commit` is the head of the stage's branch if git makes the merge in the main checkout. */
  merge: StageMerge,
  /** When it began by the clock of the machine, in milliseconds since 1970. Older releases stored none. */
  since: z.number().optional(),
  actor: z.string(),
});
export type MergeIntent = z.infer<typeof MergeIntent>;

/** A stored comment on a stage's changes. `state` and `isMine` follow from it. */
export const CommentRecord = ReviewComment.omit({ state: true, isMine: true }).extend({
  /** Where it was written; it is followed from there, so that lines that come back are found again. */
  origin: ReviewComment.pick({ line: true, endLine: true, version: true }),
});
export type CommentRecord = z.infer<typeof CommentRecord>;

/** A check with what its message to Claude needs. */
export const CheckRecord = CheckRun.extend({
  /** The end of its output, as plain text. */
  output: z.string(),
});
export type CheckRecord = z.infer<typeof CheckRecord>;

/** The parts of settings files that a person agreed to: in a project, or in the user's own settings. */
export const AgreedSettings = z.object({
  /** Everything a repository switched on, newest last: branches may differ. */
  contents: z
    .array(
      z.object({
        hash: z.string(),
        fingerprints: z.array(z.string()),
        by: z.string().nullable(),
        at: z.iso.datetime(),
      }),
    )
    .default([]),
  /** Rules and folders that the person allowed in a terminal, each as `rule:...` or `directory:...`. */
  personal: z.array(z.string()).default([]),
  /** What `callboard.yaml` may run, on whatever branch. */
  commands: z.array(z.string()).default([]),
  /** From before Callboard asked for trust: the first check agrees to all current settings, or to the personal part. */
  adopt: z.enum(['all', 'personal']).nullable().default(null),
});
export type AgreedSettings = z.infer<typeof AgreedSettings>;

/** What settings files had switched on when a process was started, to detect later additions. */
export const LaunchSettings = z.object({
  /** The repository's hooks that a person agreed to run. */
  runsRepositoryHooks: z.boolean().default(false),
  /** Everything that settings files switched on at that time, as `<file> <kind>:<value>`. */
  items: z.array(z.string()).default([]),
  /** The allow rules among them, and those that Callboard gave. */
  rules: z.array(z.string()).default([]),
  /** Its commands run in the sandbox that Callboard set up. */
  isSandboxed: z.boolean().default(false),
  /** They run there without asking. */
  autoAllows: z.boolean().default(false),
  /** The settings files of the repository are read. */
  readsRepository: z.boolean().default(true),
  /** Commands that the settings of that time exclude from the sandbox. */
  excluded: z.array(z.string()).default([]),
  /** It can receive messages from other sessions: those are not the user's, and raise no alarm. */
  sessionMessages: z.boolean().default(false),
  /** False for a process that was started before this was recorded. */
  isKnown: z.boolean().default(false),
});
export type LaunchSettings = z.infer<typeof LaunchSettings>;

export interface LaunchRecord {
  id: LaunchId;
  stageId: StageId;
  state: 'starting' | 'live' | 'ended';
  /** Absolute path of its folder: FIFO, spool, stderr. */
  folder: string;
  process: ProcessIdentity | null;
  spoolOffset: number;
  createdAt: string;
  endedAt: string | null;
  endReason: string | null;
  settings: LaunchSettings;
  /** Processes that it started and that still run without its marker, as last seen. */
  leftovers: readonly ProcessIdentity[];
}

/**
 * Input to launches. Each kind has its replay rule. A `message` is written as often as needed, since the CLI drops a
 * uuid it has seen. So is an `answer`, since the first answer to a request wins and the CLI ignores others. A `control`
 * is written at most once.
 */
export type OutboxKind = 'message' | 'answer' | 'control';

/** `accepted` (stored), `written` (in the process's input), `confirmed` (the CLI said so), `void` (never will be). */
export type OutboxState = 'accepted' | 'written' | 'confirmed' | 'void';

export interface OutboxRow {
  ordinal: number;
  id: string;
  stageId: StageId;
  /** Null while a message waits in the queue. */
  launchId: LaunchId | null;
  kind: OutboxKind;
  state: OutboxState;
  wireId: string;
  body: OutboxBody;
  actor: string | null;
  position: number;
  writing: boolean;
  createdAt: string;
  writtenAt: string | null;
  confirmedAt: string | null;
  voidReason: string | null;
}

export const OutboxBody = z.discriminatedUnion('kind', [
  /** `entered`: it has its transcript entry, so a second delivery after a resume does not add another. */
  z.object({
    kind: z.literal('message'),
    text: z.string(),
    entered: z.boolean(),
    attachments: z.array(Attachment).default([]),
    /** Have the CLI run a leading `/` as a command. */
    isCommand: z.boolean().default(false),
    /** Have the CLI attach the files that `@path` names: only for text that a person wrote here. */
    attachesFiles: z.boolean().default(false),
    /** It goes next, even if the queue is held: a person asked to send it now. */
    urgent: z.boolean().default(false),
    /** The sender's original text, if it was edited in the queue since. */
    sentAs: z.string().nullable().default(null),
    /** It was sent to an ended session while the disk was nearly full: the session is resumed for it when there is room. */
    awaitsRoom: z.boolean().default(false),
  }),
  /** The `response` object of a control response, as it goes over the wire. */
  z.object({ kind: z.literal('answer'), response: z.record(z.string(), z.unknown()) }),
  z.object({
    kind: z.literal('control'),
    request: z.looseObject({ subtype: z.string() }),
    /** For a request that ends a turn or the process: why, and who asked for it. */
    reason: z.string().optional(),
  }),
]);
export type OutboxBody = z.infer<typeof OutboxBody>;

/** The content of a message. */
export type MessageContent = Pick<
  Extract<OutboxBody, { kind: 'message' }>,
  'text' | 'attachments' | 'isCommand' | 'attachesFiles'
>;

/** Returns the body of a message that was not delivered yet. */
export const messageBody = (content: MessageContent): Extract<OutboxBody, { kind: 'message' }> => ({
  kind: 'message',
  entered: false,
  urgent: false,
  awaitsRoom: false,
  sentAs: null,
  ...content,
});

/** Returns the body of a message that is only text. */
export const textMessage = (text: string) =>
  messageBody({ text, attachments: [], isCommand: false, attachesFiles: false });

export type MessageRow = OutboxRow & { wireId: MessageId; body: Extract<OutboxBody, { kind: 'message' }> };
