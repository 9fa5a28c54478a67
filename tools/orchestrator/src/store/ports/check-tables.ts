import type { CheckState, PhaseRun, StageId } from '@callboard/contract';
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
