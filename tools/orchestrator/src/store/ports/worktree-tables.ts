import type { StageId, WorktreeCommand } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';

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
