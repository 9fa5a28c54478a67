import type { Attachment, Draft, MachineId, ProjectId, Stage, StageId } from '@callboard/contract';
import type { MergeIntent } from '../records.ts';

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
