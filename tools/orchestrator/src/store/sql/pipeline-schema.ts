import type { Generated } from 'kysely';

interface ChecksColumns {
  ordinal: Generated<number>;
  id: string;
  stage_id: string;
  state: string;
  /** A `CheckRecord`, whole. */
  document: string;
}

interface PhaseRunsColumns {
  ordinal: Generated<number>;
  stage_id: string;
  /** A `PhaseRun`, whole. */
  document: string;
}

interface SideRunsColumns {
  ordinal: Generated<number>;
  id: string;
  stage_id: string;
  state: string;
  /** Its `ProcessIdentity`, as JSON; null if it has none, or none is known. */
  process: string | null;
  /** A `SideRun`, whole. */
  document: string;
}

/** The tables about the phases of stages. */
export interface PipelineSchema {
  checks: ChecksColumns;
  phase_runs: PhaseRunsColumns;
  side_runs: SideRunsColumns;
}
