import { z } from 'zod';
import { BoardCounts, BoardView } from './board.ts';
import { CapabilitiesQuery, CapabilitiesReply } from './capabilities.ts';
import { DenialSource } from './denials.ts';
import { DiffQuery, SeenDiff, StageDiff } from './diff.ts';
import { Draft, DraftFile, FILES_KEY } from './drafts.ts';
import { type BoardEvent, looksLikeEvent, TextDelta } from './events.ts';
import { GitSettingsBody } from './git-settings.ts';
import { MessageId, ProjectId, RequestId, StageId } from './ids.ts';
import { Actor, Login, PageKey } from './logins.ts';
import { LoopDelay } from './loop-delay.ts';
import { Attachment, MessageBody, MessagePatch, QueuedMessage, SendMessageReply } from './messages.ts';
import { NewProject, Project, ProjectPatch } from './projects.ts';
import { AnswerBody, ApproveBody, Decision, PendingRequest, RequestKind, RequestOutcome } from './requests.ts';
import { PermissionRule } from './rules.ts';
import {
  BackgroundTask,
  Effort,
  LeftProcess,
  McpServer,
  PermissionMode,
  SessionSummary,
  TaskOutput,
} from './sessions.ts';
import { NewStage, Stage, StagePatch, StageView } from './stages.ts';
import { TranscriptEntry } from './transcript.ts';
import { BuildFolders, KeptFile, Removal, TrashEntry } from './trash.ts';
import { ProjectTrust, RulesBody, TrustBody, TrustQuery } from './trust.ts';

const onStage = { stageId: StageId };
const ofRequest = z.object({ ...onStage, requestId: RequestId });
const ofTask = z.object({ ...onStage, taskId: z.string().min(1).max(200) });
const taskList = z.object({ tasks: z.array(BackgroundTask) });
const mcpList = z.object({ servers: z.array(McpServer) });
const nothing = z.object({});

export const ModeBody = z.strictObject({ mode: PermissionMode });
/** The model, the effort, or both; a model of null is the default one. */
export const ModelBody = z.strictObject({
  model: z.string().trim().min(1).max(200).nullable().optional(),
  effort: Effort.optional(),
});
/**
 * With `merge` the stage's branch is merged into the branch that the repository's main checkout is on; with `head` and
 * `tree`, as the diff told them, only while they are still true.
 */
export const CompleteBody = z.strictObject({ merge: z.boolean().optional(), ...SeenDiff.shape });
/** An absolute path, or one relative to the repository. */
export const ImportBody = z.strictObject({ path: z.string().trim().min(1) });
const ImportReply = z.object({
  stages: z.array(StageView),
  created: z.int(),
  updated: z.int(),
  /** Keys of the files' frontmatter that mean nothing here, so that nothing was made of them. */
  ignored: z.array(z.object({ file: z.string(), keys: z.array(z.string()) })),
});
const DraftToPut = Draft.omit({ updatedAt: true }).extend({
  key: Draft.shape.key.refine((key) => key !== FILES_KEY, 'is kept by the server; add and remove the files'),
});
export const SuggestFiles = z.strictObject({ query: z.string().max(500).optional() });
export const DecisionSource = z.enum(['person', ...DenialSource.options]);
export type DecisionSource = z.infer<typeof DecisionSource>;
export const DecisionFilter = z.strictObject({
  projectId: ProjectId.optional(),
  stageId: StageId.optional(),
  outcome: RequestOutcome.optional(),
  kind: RequestKind.optional(),
  by: z.string().optional(),
  /** `person`: whatever was put to a person; the others: what of Claude Code denied a call and asked nobody. */
  source: DecisionSource.optional(),
  toolName: z.string().optional(),
  /** Decided at or after, and before, these instants. */
  since: z.iso.datetime().optional(),
  before: z.iso.datetime().optional(),
  limit: z.int().positive().max(1000).optional(),
});
export type DecisionFilter = z.infer<typeof DecisionFilter>;

/** All of a session: its summary, its queue and what it waits for. */
export const SessionView = SessionSummary.extend({ queue: z.array(QueuedMessage), pending: z.array(PendingRequest) });
export type SessionView = z.infer<typeof SessionView>;

/**
 * How long a client waits for the reply to a command, in milliseconds. `read`: a short answer out of the store, for
 * someone who waits before a page; asking again is harmless. `slow`: it waits for processes or for git. All others,
 * among them the reads of streams (`get_events`), are `normal`: nobody looks at them, and a stream that fails begins anew.
 */
export const REPLY_LIMITS_MS = { read: 5_000, normal: 30_000, slow: 120_000 } as const;

/** Every command: the fields it takes, the data of its reply, and how long that takes unless it is `normal`. */
export const commands = {
  get_board: { time: 'read', input: nothing, reply: BoardView },
  /** For monitoring. */
  get_counts: { time: 'read', input: nothing, reply: z.object({ counts: BoardCounts, loopDelay: LoopDelay }) },
  get_events: {
    input: z.object({ since: z.int().nonnegative(), limit: z.int().positive().max(1000).optional() }),
    /** `resync`: what came after `since` is no longer kept, or `since` is ahead of us; load the board anew. */
    reply: z.object({ events: z.array(z.custom<BoardEvent>(looksLikeEvent)), resync: z.boolean() }),
  },
  /** From now on this connection gets the text deltas of exactly these stages. */
  watch: { input: z.object({ stageIds: z.array(StageId).max(1000) }), reply: nothing },

  create_project: { input: NewProject, reply: z.object({ project: Project, created: z.boolean() }) },
  update_project: { input: ProjectPatch.extend({ projectId: ProjectId }), reply: z.object({ project: Project }) },
  remove_project: { input: z.object({ projectId: ProjectId }), reply: z.object({ project: Project }) },
  /** Agrees to exactly what has this hash; `git_settings_changed` where it is not what is there now. */
  agree_git_settings: {
    input: GitSettingsBody.extend({ projectId: ProjectId }),
    reply: z.object({ project: Project }),
  },
  get_projects: { time: 'read', input: nothing, reply: z.object({ projects: z.array(Project) }) },
  /** Agrees to these rules of the main checkout's or the user's own settings, and to nothing else. */
  agree_rules: { input: RulesBody.extend({ projectId: ProjectId }), reply: z.object({ project: Project }) },
  /** Stages from the Markdown files of a folder; all of them or, when one is wrong, none. */
  import_stages: { time: 'slow', input: ImportBody.extend({ projectId: ProjectId }), reply: ImportReply },
  get_rules: {
    time: 'read',
    input: z.object({ projectId: ProjectId }),
    reply: z.object({ rules: z.array(PermissionRule) }),
  },
  /** What the repository's own settings would switch on, looked at anew; with a stage: those in its worktree. */
  get_trust: { input: TrustQuery.extend({ projectId: ProjectId }), reply: z.object({ trust: ProjectTrust }) },
  /** Agrees to exactly what has this hash; `trust_changed` where it is not what is there now. */
  trust_project: { input: TrustBody.extend({ projectId: ProjectId }), reply: z.object({ project: Project }) },
  /** Running sessions keep it until their process ends. */
  remove_rule: { input: z.object({ ruleId: z.string() }), reply: z.object({ rule: PermissionRule }) },

  create_stage: { input: NewStage, reply: z.object({ stage: StageView }) },
  get_stage: { time: 'read', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  update_stage: { input: z.object({ ...onStage, patch: StagePatch }), reply: z.object({ stage: StageView }) },
  /** What `remove_stage` would do to the stage's worktree now. */
  get_removal: { time: 'slow', input: z.object(onStage), reply: z.object({ removal: Removal }) },
  remove_stage: {
    time: 'slow',
    input: z.object({ ...onStage, buildFolders: BuildFolders.optional() }),
    reply: z.object({
      stage: Stage,
      /** What was not removed, so that nothing is lost, in words; null when all is gone. */
      left: z.string().nullable(),
      /** What went to the trash; null: nothing. */
      kept: TrashEntry.nullable(),
      /** The folders of dependencies and build results that were deleted for good. */
      deleted: z.array(KeptFile),
    }),
  },
  /** Newest first. */
  get_trash: { input: nothing, reply: z.object({ entries: z.array(TrashEntry) }) },
  /** Without a folder: into the stage's worktree, or where there is none into a new folder of its own. Nothing is overwritten. */
  restore_trash: {
    time: 'slow',
    input: z.object({ trashId: z.uuid(), folder: z.string().trim().min(1).max(4_000).optional() }),
    reply: z.object({ folder: z.string(), files: z.array(KeptFile), fileCount: z.int().nonnegative() }),
  },
  get_diff: { time: 'slow', input: DiffQuery.extend(onStage), reply: z.object({ diff: StageDiff }) },
  /** Files of the stage's worktree whose paths fit what was typed, the best first; without a query the topmost ones. */
  suggest_files: { input: SuggestFiles.extend(onStage), reply: z.object({ files: z.array(z.string()) }) },
  start_stage: { time: 'slow', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  /** Lets the next phase of its pipeline begin. */
  advance_stage: { time: 'slow', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  stop_stage: { time: 'slow', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  /** Takes a done stage back to Review. A message to it does the same, and is delivered. */
  reopen_stage: { input: z.object(onStage), reply: z.object({ stage: StageView }) },
  complete_stage: { time: 'slow', input: CompleteBody.extend(onStage), reply: z.object({ stage: StageView }) },

  /** What Claude Code offers: for a stage, for a new stage of a project, or for whatever comes. */
  get_capabilities: { time: 'read', input: CapabilitiesQuery, reply: CapabilitiesReply },

  get_session: { time: 'read', input: z.object(onStage), reply: z.object({ session: SessionView }) },
  get_transcript: {
    time: 'read',
    input: z.object({
      ...onStage,
      after: z.int().nonnegative().optional(),
      before: z.int().positive().optional(),
      limit: z.int().positive().max(1000).optional(),
    }),
    /** In ascending order. Without `after` and `before`: the newest. `total` is the index of the last entry. */
    reply: z.object({ entries: z.array(TranscriptEntry), total: z.int().nonnegative() }),
  },
  /** What is being written and not stored yet, each block from its beginning: for who comes while it streams. */
  get_live_text: { input: z.object(onStage), reply: z.object({ blocks: z.array(TextDelta) }) },
  get_pending: {
    time: 'read',
    input: z.object({ stageId: StageId.optional() }),
    reply: z.object({ pending: z.array(PendingRequest) }),
  },
  get_decisions: {
    time: 'read',
    input: DecisionFilter,
    /** Newest first. `next`: give it as `before` for the following page; null at the end. */
    reply: z.object({ decisions: z.array(Decision), next: z.string().nullable() }),
  },

  get_drafts: { time: 'read', input: z.object(onStage), reply: z.object({ drafts: z.array(Draft) }) },
  put_draft: { input: DraftToPut, reply: z.object({ draft: Draft }) },
  /** Keeps a file for the next message. The id is the sender's, so that the same file sent again is there once. */
  add_draft_file: {
    input: z.object({ ...onStage, fileId: z.uuid(), file: Attachment }),
    reply: z.object({ file: DraftFile }),
  },
  get_draft_file: { input: z.object({ ...onStage, fileId: z.uuid() }), reply: z.object({ file: Attachment }) },
  remove_draft_file: { input: z.object({ ...onStage, fileId: z.uuid() }), reply: z.object({ file: DraftFile }) },

  send_message: { time: 'slow', input: MessageBody.extend(onStage), reply: SendMessageReply },
  get_queue: {
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ queue: z.array(QueuedMessage), held: z.boolean() }),
  },
  edit_queued: {
    input: z.object({ ...onStage, messageId: MessageId, patch: MessagePatch }),
    reply: z.object({ message: QueuedMessage }),
  },
  /** Lets a queue go that is held after a failed or interrupted turn. */
  release_queue: { input: z.object(onStage), reply: z.object({ session: SessionView }) },
  /** Sends a row that waits: into the running turn, or at once by interrupting it. */
  send_queued: {
    time: 'slow',
    input: z.object({ ...onStage, messageId: MessageId, mode: z.enum(['steer', 'now']) }),
    reply: SendMessageReply,
  },
  remove_queued: { input: z.object({ ...onStage, messageId: MessageId }), reply: z.object({ message: QueuedMessage }) },

  approve_tool: { input: ApproveBody.extend(onStage), reply: z.object({ decision: Decision }) },
  answer_question: { input: AnswerBody.extend(onStage), reply: z.object({ decision: Decision }) },
  /** Takes note that nobody knows whether an answer counted; nothing is sent. */
  dismiss_decision: { input: ofRequest, reply: z.object({ decision: Decision }) },
  /** Tells Claude in a message what was decided, and that it may not have got it; an ended session is resumed for it. */
  retry_decision: { input: ofRequest, reply: z.object({ decision: Decision, message: SendMessageReply }) },
  interrupt: { input: z.object(onStage), reply: z.object({ session: SessionView }) },
  /** A person has looked at what raised the alarm: the session may go on. Ends the process first if it is not gone yet. */
  acknowledge_alarm: { time: 'slow', input: z.object(onStage), reply: z.object({ session: SessionView }) },
  /** A person has seen that the turn's last call was denied by Claude Code: the stage goes on to review. */
  acknowledge_denial: { input: z.object(onStage), reply: z.object({ session: SessionView }) },
  /** What the session's ended processes have left running, without the marker by which Callboard would have ended it. */
  get_leftovers: { input: z.object(onStage), reply: z.object({ processes: z.array(LeftProcess) }) },
  /** Ends these of them, or none where one is not on the list any more. The reply has what still runs. */
  end_leftovers: {
    time: 'slow',
    input: z.object({ ...onStage, pids: z.array(z.int().positive()).min(1).max(1000) }),
    reply: z.object({ processes: z.array(LeftProcess) }),
  },
  /** What runs beside the turn; nothing without a process. */
  get_tasks: { time: 'read', input: z.object(onStage), reply: taskList },
  /** Answered once Claude Code has stopped it. The reply has what still runs. */
  stop_task: { input: ofTask, reply: taskList },
  /** What a background command has printed; also of one that has ended, while its session has a process. */
  get_task_output: { input: ofTask, reply: TaskOutput },
  /** Asks Claude Code for the state of its MCP servers. */
  get_mcp_servers: { input: z.object(onStage), reply: mcpList },
  /** Answered once the server is connected, or with why it is not. */
  reconnect_mcp_server: {
    time: 'slow',
    input: z.object({ ...onStage, name: z.string().min(1).max(500) }),
    reply: mcpList,
  },
  set_mode: { input: ModeBody.extend(onStage), reply: z.object({ session: SessionView }) },
  set_model: { input: ModelBody.extend(onStage), reply: z.object({ session: SessionView }) },

  /** `current`: the login that asks; null for an API token. */
  get_logins: {
    time: 'read',
    input: nothing,
    reply: z.object({ logins: z.array(Login), current: z.string().nullable() }),
  },
  /** Holds at once: for commands, and for event streams that are open. */
  remove_login: { input: z.object({ loginId: z.string() }), reply: z.object({ login: Login }) },

  /**
   * Trades a one-time login code for a login of the browser that holds `key`, good under `origin` alone; a used or
   * unknown code is refused with `bad_login_link`. `secret` goes into the cookie; its hash is kept.
   */
  auth_redeem: {
    input: z.object({ code: z.string(), key: PageKey, origin: z.string(), browser: z.string().max(100) }),
    reply: z.object({ secret: z.string(), login: Login }),
  },
  /** Whether the page that gives the command holds the key of its login; `page_not_known` when not. */
  auth_prove: {
    time: 'read',
    input: z.object({ origin: z.string(), nonce: z.string(), signature: z.string() }),
    reply: z.object({ loginId: z.string() }),
  },
  /** Whose the credential of the command is; `loginId` is null for an API token. */
  auth_check: { time: 'read', input: nothing, reply: z.object({ actor: Actor, loginId: z.string().nullable() }) },
  /** Ends the login that gives the command. */
  auth_logout: { input: nothing, reply: nothing },
} as const;

export type CommandType = keyof typeof commands;
export type CommandTime = keyof typeof REPLY_LIMITS_MS;
export type CommandInput<T extends CommandType> = z.infer<(typeof commands)[T]['input']>;
export type CommandReply<T extends CommandType> = z.infer<(typeof commands)[T]['reply']>;

/** How long a client waits for the reply to this command: see `REPLY_LIMITS_MS`. */
export function timeOf(type: CommandType): CommandTime {
  const command = commands[type];
  return 'time' in command ? command.time : 'normal';
}
