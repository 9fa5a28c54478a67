import { z } from 'zod';
import { BackgroundTask, TaskMark } from './background-tasks.ts';
import { BoardView } from './board.ts';
import { budgetCommands } from './budget-commands.ts';
import { CapabilitiesQuery, CapabilitiesReply } from './capabilities.ts';
import { checkCommands } from './check-commands.ts';
import { DecisionFilter } from './decision-filter.ts';
import { DiffQuery, StageDiff } from './diff.ts';
import { draftCommands } from './draft-commands.ts';
import { type BoardEvent, looksLikeEvent, TextDelta } from './events.ts';
import { FolderList, FoldersQuery } from './folders.ts';
import { GitSettingsBody } from './git-settings.ts';
import { goingBackCommands } from './going-back-commands.ts';
import { holdCommands } from './hold-commands.ts';
import { HealthFigures } from './http.ts';
import { MessageId, ProjectId, RequestId, StageId } from './ids.ts';
import { ImportBody, ImportReply } from './imports.ts';
import { LeftProcess } from './left-processes.ts';
import { limitCommands } from './limit-commands.ts';
import { loginCommands } from './login-commands.ts';
import { lookingCommands } from './looking-commands.ts';
import { machineCommands } from './machines.ts';
import { mendCommands } from './mend-commands.ts';
import { CompleteBody, Completion, CompletionQuery } from './merges.ts';
import { Attachment, MessageBody, MessagePatch, QueuedMessage, SendMessageReply } from './messages.ts';
import { moveInCommands } from './move-in-commands.ts';
import { numberCommands } from './numbers.ts';
import { Later, Me, MePatch } from './people.ts';
import { BranchList, NewProject, Project, ProjectPatch } from './projects.ts';
import { pullRequestCommands } from './pull-request-commands.ts';
import { pushCommands } from './push.ts';
import { AnswerBody, AnswerReply, ApproveBody, Decision, PendingRequest } from './requests.ts';
import { reviewCommands } from './review-commands.ts';
import { ruleCommands } from './rule-commands.ts';
import { SearchQuery, SearchReply } from './search.ts';
import { Effort, McpServer, PermissionMode, SessionSummary, TaskOutput } from './sessions.ts';
import { CreateStage, Stage, StagePatch, StageView } from './stages.ts';
import { TranscriptEntry } from './transcript.ts';
import { BuildFolders, KeptFile, Removal, TrashEntry } from './trash.ts';
import { trashCommands } from './trash-commands.ts';
import { ProjectTrust, RulesBody, TrustBody, TrustQuery } from './trust.ts';
import { webhookCommands } from './webhooks.ts';
import { workspaceCommands } from './workspace-commands.ts';

const onStage = { stageId: StageId };
const ofProject = { projectId: ProjectId };
const ofRequest = z.object({ ...onStage, requestId: RequestId });
const ofTask = z.object({ ...onStage, taskId: z.string().min(1).max(200) });
const taskList = z.object({ tasks: z.array(BackgroundTask) });
const mcpList = z.object({ servers: z.array(McpServer) });
const nothing = z.object({});

export const ModeBody = z.strictObject({ mode: PermissionMode });
/** The model, the effort, or both. A model of null selects the default. */
export const ModelBody = z.strictObject({
  model: z.string().trim().min(1).max(200).nullable().optional(),
  effort: Effort.optional(),
});
export const SuggestFiles = z.strictObject({ query: z.string().max(500).optional() });

/** A whole session: its summary, its queue and its open requests. */
export const SessionView = SessionSummary.extend({ queue: z.array(QueuedMessage), pending: z.array(PendingRequest) });
export type SessionView = z.infer<typeof SessionView>;

/**
 * How long a client waits for the reply to a command, in milliseconds. `read`: a short answer from the store, while
 * somebody waits for a page; repeating it is harmless. `slow`: waits for processes or for git. All others are `normal`,
 * including the reads of streams (`get_events`): nobody watches those, and a stream that fails starts again.
 */
export const REPLY_LIMITS_MS = { read: 5_000, normal: 30_000, slow: 120_000 } as const;

/** Every command: its input fields, the data of its reply, and its time limit unless that is `normal`. */
export const commands = {
  get_board: { time: 'read', input: nothing, reply: BoardView },
  /** Returns counts for monitoring. */
  get_counts: { time: 'read', input: nothing, reply: HealthFigures },
  /** Returns the orchestrator's figures in Prometheus' text format, for a token of `create_metrics_token`; `not_logged_in` for any other. */
  get_metrics: {
    time: 'read',
    input: z.object({ token: z.string().min(1).max(512) }),
    reply: z.object({ text: z.string() }),
  },
  get_events: {
    input: z.object({ since: z.int().nonnegative(), limit: z.int().positive().max(1000).optional() }),
    /** `resync`: events after `since` have been pruned, or `since` is ahead of the log. Load the board again. */
    reply: z.object({ events: z.array(z.custom<BoardEvent>(looksLikeEvent)), resync: z.boolean() }),
  },
  /** Subscribes this connection to the text deltas of exactly these stages. */
  watch: { input: z.object({ stageIds: z.array(StageId).max(1000) }), reply: nothing },

  create_project: { input: NewProject, reply: z.object({ project: Project, created: z.boolean() }) },
  update_project: { input: ProjectPatch.extend({ projectId: ProjectId }), reply: z.object({ project: Project }) },
  remove_project: { input: z.object({ projectId: ProjectId }), reply: z.object({ project: Project }) },
  /** Agrees to the git settings with this hash; `git_settings_changed` if they differ by now. */
  agree_git_settings: {
    input: GitSettingsBody.extend({ projectId: ProjectId }),
    reply: z.object({ project: Project }),
  },
  list_folders: { time: 'read', input: FoldersQuery, reply: FolderList },
  get_projects: { time: 'read', input: nothing, reply: z.object({ projects: z.array(Project) }) },
  /** Agrees to exactly these rules in the settings of the main checkout or of the user. */
  agree_rules: { input: RulesBody.extend({ projectId: ProjectId }), reply: z.object({ project: Project }) },
  /** Imports stages from the Markdown files of a folder: all of them, or none if one is invalid. */
  import_stages: { time: 'slow', input: ImportBody.extend({ projectId: ProjectId }), reply: ImportReply },
  /** Reads again what the repository's own settings would switch on; with a stage, the settings in its worktree. */
  get_trust: { input: TrustQuery.extend({ projectId: ProjectId }), reply: z.object({ trust: ProjectTrust }) },
  /** Agrees to the settings with this hash; `trust_changed` if they differ by now. */
  trust_project: { input: TrustBody.extend({ projectId: ProjectId }), reply: z.object({ project: Project }) },
  ...moveInCommands,
  ...numberCommands,

  create_stage: { input: CreateStage, reply: z.object({ stage: StageView }) },
  get_stage: { time: 'read', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  /** Returns a file of the stage's first message. */
  get_attachment: {
    time: 'read',
    input: z.object({ ...onStage, fileId: z.uuid() }),
    reply: z.object({ file: Attachment }),
  },
  update_stage: { input: z.object({ ...onStage, patch: StagePatch }), reply: z.object({ stage: StageView }) },
  /** Returns what `remove_stage` would do to the stage's worktree now. */
  get_removal: { time: 'slow', input: z.object(onStage), reply: z.object({ removal: Removal }) },
  remove_stage: {
    time: 'slow',
    input: z.object({ ...onStage, buildFolders: BuildFolders.optional() }),
    reply: z.object({
      stage: Stage,
      /** What was left in place to prevent data loss, in words; null if everything was removed. */
      left: z.string().nullable(),
      /** The new trash entry; null if nothing went to the trash. */
      kept: TrashEntry.nullable(),
      /** The folders of dependencies and build results that were deleted permanently. */
      deleted: z.array(KeptFile),
      /** Processes that Claude's commands left running: they run on. */
      running: z.array(LeftProcess).optional(),
    }),
  },
  get_diff: { time: 'slow', input: DiffQuery.extend(onStage), reply: z.object({ diff: StageDiff }) },
  /** Lists files of the stage's worktree whose paths match the query, best first; without a query, the topmost files. */
  suggest_files: { input: SuggestFiles.extend(onStage), reply: z.object({ files: z.array(z.string()) }) },
  /** Lists files of a project's main checkout in the same way. */
  suggest_project_files: { input: SuggestFiles.extend(ofProject), reply: z.object({ files: z.array(z.string()) }) },
  get_branches: { input: z.object(ofProject), reply: BranchList },
  /** With `withoutSetup`, in a worktree that is not set up; with `withoutFetch`, from what the repository has. Replies when Claude is up, or when the set-up of the worktree begins. */
  start_stage: {
    time: 'slow',
    input: z.object({ ...onStage, withoutSetup: z.boolean().optional(), withoutFetch: z.boolean().optional() }),
    reply: z.object({ stage: StageView }),
  },
  /** Starts the next phase of the stage's pipeline; after a check that did not pass, a person accepts the work as it is. */
  advance_stage: { time: 'slow', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  stop_stage: { time: 'slow', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  ...checkCommands,
  /** Moves a done stage back to Review. A message to the stage does the same, and is delivered. */
  reopen_stage: { input: z.object(onStage), reply: z.object({ stage: StageView }) },
  /** Returns what completing the stage would merge now, and whether its last completion can be taken back. Changes nothing. */
  get_completion: { time: 'slow', input: CompletionQuery.extend(onStage), reply: z.object({ completion: Completion }) },
  /** Commits that files which only Claude Code's sandbox had put there are no part of the branch, and returns them. */
  take_out_placeholders: { time: 'slow', input: z.object(onStage), reply: z.object({ files: z.array(z.string()) }) },
  /** Marks the stage done; on request commits and merges its work first. */
  complete_stage: { time: 'slow', input: CompleteBody.extend(onStage), reply: z.object({ stage: StageView }) },
  /** Takes the last completion back. A merge only while its branch still stands at it, it was not pushed, and the main checkout is clean. */
  undo_completion: { time: 'slow', input: z.object(onStage), reply: z.object({ stage: StageView }) },
  ...mendCommands,
  ...pullRequestCommands,
  ...limitCommands,
  ...holdCommands,
  ...machineCommands,
  ...budgetCommands,

  /** Returns what Claude Code offers: to a stage, to a new stage of a project, or in general. */
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
    /** Entries in ascending order; the newest if neither `after` nor `before` is given. `total` is the index of the last entry. */
    reply: z.object({ entries: z.array(TranscriptEntry), total: z.int().nonnegative() }),
  },
  /** Returns the streaming text that is not stored yet, each block from its beginning, for clients that join during a stream. */
  get_live_text: { input: z.object(onStage), reply: z.object({ blocks: z.array(TextDelta) }) },
  get_pending: {
    time: 'read',
    input: z.object({ stageId: StageId.optional() }),
    /** `later`: which of them the person who asks set aside. */
    reply: z.object({ pending: z.array(PendingRequest), later: z.array(Later).default([]) }),
  },
  /**
   * Sets a request aside for the person who sends this, on all their devices, until it is decided: until an instant, or
   * without `until` for good. `until: null` takes that back.
   */
  set_later: {
    input: z.object({ requestId: RequestId, stageId: StageId.optional(), until: z.iso.datetime().nullish() }),
    reply: z.object({ later: Later.nullable() }),
  },
  /** Changes the settings of the person who sends this. */
  update_me: { input: MePatch, reply: z.object({ me: Me }) },
  get_decisions: {
    time: 'read',
    input: DecisionFilter,
    /** Decisions, newest first. Pass `next` as `before` to get the following page; null at the end. */
    reply: z.object({ decisions: z.array(Decision), next: z.string().nullable() }),
  },

  /** Finds words in titles, prompts, comments and transcripts. */
  search: { time: 'read', input: SearchQuery, reply: SearchReply },

  ...draftCommands,

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
  /** Releases a queue that is held after a failed or interrupted turn. */
  release_queue: { input: z.object(onStage), reply: z.object({ session: SessionView }) },
  /** Sends a queued message: into the running turn (`steer`), or at once by interrupting it (`now`). */
  send_queued: {
    time: 'slow',
    input: z.object({ ...onStage, messageId: MessageId, mode: z.enum(['steer', 'now']) }),
    reply: SendMessageReply,
  },
  remove_queued: { input: z.object({ ...onStage, messageId: MessageId }), reply: z.object({ message: QueuedMessage }) },

  approve_tool: { input: ApproveBody.extend(onStage), reply: AnswerReply },
  answer_question: { input: AnswerBody.extend(onStage), reply: AnswerReply },
  /** Takes back an answer of the person who sends this that is still held back. The request is open then, as before. */
  take_back_answer: {
    input: z.object({ requestId: RequestId, stageId: StageId.optional() }),
    reply: z.object({ request: PendingRequest }),
  },
  /** Records that nobody knows whether an answer took effect. Sends nothing. */
  dismiss_decision: { input: ofRequest, reply: z.object({ decision: Decision }) },
  /** Sends Claude a message with the decision, which it may not have received. Resumes an ended session for it. */
  retry_decision: { input: ofRequest, reply: z.object({ decision: Decision, message: SendMessageReply }) },
  interrupt: { input: z.object(onStage), reply: z.object({ session: SessionView }) },
  /** A person has looked into the alarm: the session may continue. Ends the process first if it is still running. */
  acknowledge_alarm: { time: 'slow', input: z.object(onStage), reply: z.object({ session: SessionView }) },
  /** A person has seen that Claude Code denied the turn's last call: the stage moves to Review. */
  acknowledge_denial: { input: z.object(onStage), reply: z.object({ session: SessionView }) },
  /** Lists processes left running by the session's ended processes. They lack the marker by which Callboard would have ended them. */
  get_leftovers: { input: z.object(onStage), reply: z.object({ processes: z.array(LeftProcess) }) },
  /** Ends these processes, or none if one is no longer on the list. The reply lists those still running. */
  end_leftovers: {
    time: 'slow',
    input: z.object({ ...onStage, pids: z.array(z.int().positive()).min(1).max(1000) }),
    reply: z.object({ processes: z.array(LeftProcess) }),
  },
  /** Lists background tasks; empty without a process. */
  get_tasks: { time: 'read', input: z.object(onStage), reply: taskList },
  /** Replies after Claude Code has stopped the task. The reply lists the tasks still running. */
  stop_task: { input: ofTask, reply: taskList },
  /** Says of a background command whether the stage waits for it. One that is meant to keep running is known again by its command. */
  mark_task: { input: z.object({ ...ofTask.shape, mark: TaskMark.nullable() }), reply: taskList },
  /** Returns the output of a background command, running or ended, while its session has a process. */
  get_task_output: { input: ofTask, reply: TaskOutput },
  /** Asks Claude Code for the state of its MCP servers. */
  get_mcp_servers: { input: z.object(onStage), reply: mcpList },
  /** Replies after the server has connected, or with the reason why it has not. */
  reconnect_mcp_server: {
    time: 'slow',
    input: z.object({ ...onStage, name: z.string().min(1).max(500) }),
    reply: mcpList,
  },
  set_mode: { input: ModeBody.extend(onStage), reply: z.object({ session: SessionView }) },
  set_model: { input: ModelBody.extend(onStage), reply: z.object({ session: SessionView }) },

  ...trashCommands,
  ...workspaceCommands,
  ...reviewCommands,
  ...ruleCommands,
  ...goingBackCommands,
  ...lookingCommands,
  ...pushCommands,
  ...webhookCommands,
  ...loginCommands,
} as const;

export type CommandType = keyof typeof commands;
export type CommandTime = keyof typeof REPLY_LIMITS_MS;
export type CommandInput<T extends CommandType> = z.infer<(typeof commands)[T]['input']>;
export type CommandReply<T extends CommandType> = z.infer<(typeof commands)[T]['reply']>;

/** Returns how long a client waits for the reply to this command: a key of `REPLY_LIMITS_MS`. */
export function timeOf(type: CommandType): CommandTime {
  const command = commands[type];
  return 'time' in command ? command.time : 'normal';
}
