import type { CheckState, PhaseRun, SideRun, SideRunState, StageId } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import type { CheckRecord } from '../records.ts';

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
