import type {
  Attachment,
  Capabilities,
  CheckState,
  CommentId,
  Draft,
  MachineId,
  MessageId,
  PhaseRun,
  Project,
  ProjectId,
  SideRun,
  SideRunState,
  Stage,
  StageId,
  ViewedFiles,
  WorktreeCommand,
} from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import type { GitAgreement } from '../../lib/git-agreement.ts';
import type { AgreedSettings, CheckRecord, CommentRecord, MergeIntent, TurnMark } from '../records.ts';

/** Runs of checks: what they decide, and what became of it. */
export interface ChecksTable {
  /** Newest first. */
  listOf(stageId: StageId): Promise<CheckRecord[]>;
  /** All that are in one of these states, oldest first. */
  listIn(states: readonly CheckState[]): Promise<CheckRecord[]>;
  find(id: string): Promise<CheckRecord | null>;
  /** Inserts or replaces it, and removes the oldest of a stage that has very many. */
  save(run: CheckRecord): Promise<void>;
}

/** The phases of stages that have begun. */
export interface PhaseRunsTable {
  /** Oldest first. */
  listOf(stageId: StageId): Promise<PhaseRun[]>;
  newest(stageId: StageId): Promise<PhaseRun | null>;
  insert(run: PhaseRun): Promise<void>;
  /** Replaces the newest one of its stage. */
  setNewest(run: PhaseRun): Promise<void>;
}

/** Runs of Claude beside the conversations of stages. */
export interface SideRunsTable {
  /** Newest first. */
  listOf(stageId: StageId): Promise<SideRun[]>;
  /** All that are in one of these states, oldest first, with the process that was last known. */
  listIn(states: readonly SideRunState[]): Promise<{ run: SideRun; process: ProcessIdentity | null }[]>;
  find(id: string): Promise<SideRun | null>;
  /** Inserts or replaces it, and removes the oldest of a stage that has very many. */
  save(run: SideRun): Promise<void>;
  setProcess(id: string, process: ProcessIdentity): Promise<void>;
}

/** Registered repositories. */
export interface ProjectsTable {
  /** Oldest first. */
  list(): Promise<Project[]>;
  find(id: ProjectId): Promise<Project | null>;
  /** @param path the root of the repository */
  findByPath(path: string): Promise<Project | null>;
  /** Inserts or replaces it. The agreement to its git settings stays. */
  save(project: Project): Promise<void>;
  /** The git settings that a person agreed to, and those pending; null before the first check. */
  gitAgreement(id: ProjectId): Promise<GitAgreement | null>;
  saveGitAgreement(id: ProjectId, agreement: GitAgreement): Promise<void>;
  remove(id: ProjectId): Promise<void>;
}

/** `user`: the settings that apply in all projects. */
export type AgreedScope = ProjectId | 'user';

/** Which settings of files a person agreed to. */
export interface AgreedTable {
  /** Null before the first check. */
  find(scope: AgreedScope): Promise<AgreedSettings | null>;
  save(scope: AgreedScope, agreed: AgreedSettings): Promise<void>;
  remove(scope: AgreedScope): Promise<void>;
}

/** What Claude Code offers, as reported by the newest launch of each stage. */
export interface CapabilitiesTable {
  find(stageId: StageId): Promise<Capabilities | null>;
  /** The newest of the project's stages. */
  newestOf(projectId: ProjectId): Promise<Capabilities | null>;
  /** The newest of all. */
  newest(): Promise<Capabilities | null>;
  save(stageId: StageId, at: string, capabilities: Capabilities): Promise<void>;
}

/** Comments on the changes of stages. */
export interface CommentsTable {
  /** Oldest first. */
  listOf(stageId: StageId): Promise<CommentRecord[]>;
  find(stageId: StageId, commentId: CommentId): Promise<CommentRecord | null>;
  /** The comments that went with this message. */
  listSentWith(stageId: StageId, messageId: MessageId): Promise<CommentRecord[]>;
  /** The comments that were sent and that no turn has answered yet. */
  listUnanswered(stageId: StageId): Promise<CommentRecord[]>;
  /** Inserts or replaces it. */
  save(comment: CommentRecord): Promise<void>;
  remove(stageId: StageId, commentId: CommentId): Promise<void>;
}

/** Which versions of files each person ticked as viewed. */
export interface ViewedTable {
  listOf(stageId: StageId, person: string): Promise<ViewedFiles>;
  /** Inserts or replaces it. */
  save(stageId: StageId, person: string, file: { path: string; version: string }): Promise<void>;
  remove(stageId: StageId, person: string, path: string): Promise<void>;
}

/** How many marks of a stage are kept. */
export const MAX_MARKS = 100;

/** What the worktrees looked like between turns. */
export interface TurnMarksTable {
  /** The newest mark of a turn that ended before this instant, or of all turns; null if there is none. */
  newestOf(stageId: StageId, before?: string): Promise<TurnMark | null>;
  /** The newest mark with a commit from before this transcript entry; null if there is none. */
  newestBefore(stageId: StageId, index: number): Promise<TurnMark | null>;
  /** Claude Code's ids of the stage's conversations, as far as there are marks of them, newest first. */
  conversationsOf(stageId: StageId): Promise<string[]>;
  countOf(stageId: StageId): Promise<number>;
  /** Inserts or replaces it, and forgets all but the newest marks of the stage. */
  save(stageId: StageId, mark: TurnMark): Promise<void>;
}

/** The cards of the board. */
export interface StagesTable {
  /** Oldest first. */
  list(): Promise<Stage[]>;
  find(id: StageId): Promise<Stage | null>;
  /** Whether the project has stages. */
  isUsed(project: ProjectId): Promise<boolean>;
  /** The stage that was created under this id. */
  findCreated(creationId: string): Promise<Stage | null>;
  insert(stage: Stage, creationId?: string): Promise<void>;
  /** `machineId` stays as it is: only `claim` and `releaseOf` change it. */
  update(stage: Stage): Promise<void>;
  /** Gives the stage to a machine unless another one has it. False for all but one of the machines that try. */
  claim(id: StageId, machineId: MachineId): Promise<boolean>;
  /** Takes its stages from a machine. */
  releaseOf(machineId: MachineId): Promise<void>;
  /** Removes it with its session, launches, outbox, transcript, rules and drafts. Decisions that were kept stay: see `RequestsTable.retainOf`. */
  remove(id: StageId): Promise<void>;
  /** The next `STAGE-<n>`. A number is never reused, not even after its stage was deleted. */
  nextId(): Promise<string>;
}

/** Unsent input of people. */
export interface DraftsTable {
  /** By key. */
  listOf(stageId: StageId): Promise<Draft[]>;
  /** Inserts or replaces it. */
  save(draft: Draft): Promise<void>;
  remove(stageId: StageId, key: string): Promise<void>;
}

/** The contents of files for the next message. */
export interface DraftFilesTable {
  find(stageId: StageId, fileId: string): Promise<Attachment | null>;
  insert(stageId: StageId, fileId: string, addedAt: string, file: Attachment): Promise<void>;
  remove(stageId: StageId, fileId: string): Promise<void>;
  /** By stage. */
  addedBefore(instant: string): Promise<{ stageId: StageId; fileIds: string[] }[]>;
}

/** The contents of the files that go with the first message of a stage. They stay with the stage, also once it was started. */
export interface AttachmentsTable {
  find(stageId: StageId, fileId: string): Promise<Attachment | null>;
  insert(stageId: StageId, fileId: string, file: Attachment): Promise<void>;
  remove(stageId: StageId, fileId: string): Promise<void>;
}

/** Merges that were begun and whose result is not stored yet; at most one for each stage. */
export interface MergeIntentsTable {
  list(): Promise<MergeIntent[]>;
  /** Inserts or replaces it. */
  save(intent: MergeIntent): Promise<void>;
  remove(stageId: StageId): Promise<void>;
}

/** A run of a command in a worktree, with its process. */
export interface StoredCommand {
  command: WorktreeCommand;
  /** Null until it was spawned. */
  process: ProcessIdentity | null;
}

/** What the project ran in the worktrees of its stages, oldest first. */
export interface WorktreeCommandsTable {
  listOf(stageId: StageId): Promise<WorktreeCommand[]>;
  /** Those that run, or ran when Callboard was killed. */
  listRunning(): Promise<StoredCommand[]>;
  find(id: string): Promise<WorktreeCommand | null>;
  insert(command: WorktreeCommand): Promise<void>;
  setProcess(id: string, process: ProcessIdentity): Promise<void>;
  update(command: WorktreeCommand): Promise<void>;
  remove(id: string): Promise<void>;
}

/** The ports of a stage's worktree. */
export interface PortRange {
  stageId: StageId;
  /** A small number that no other stage has. */
  place: number;
  /** The first of its ports. */
  base: number;
}

/** Which ports belong to which stage. */
export interface PortRangesTable {
  list(): Promise<PortRange[]>;
  /** Inserts or replaces it. */
  save(range: PortRange): Promise<void>;
  remove(stageId: StageId): Promise<void>;
}
