import type {
  Decision,
  DecisionFilter,
  LaunchId,
  PendingRequest,
  RequestId,
  Stage,
  StageId,
} from '@callboard/contract';

/** A request to a person. `decision` is null while it waits. */
export interface StoredRequest {
  request: PendingRequest;
  launchId: LaunchId;
  decision: Decision | null;
}

export type DecisionQuery = Omit<DecisionFilter, 'limit'> & { limit: number };

/** Pending requests and their decisions. Decisions outlive their stage. */
export interface RequestsTable {
  /** All open requests, oldest first. */
  listOpen(): Promise<PendingRequest[]>;
  listOpenOf(stageId: StageId): Promise<PendingRequest[]>;
  countOpenOf(stageId: StageId): Promise<number>;
  /** The size of all open requests, as stored. */
  bytesOpen(): Promise<number>;
  /** Answers whose fate is unknown and that nobody has settled, oldest first. */
  listUnsettled(): Promise<Decision[]>;
  listUnsettledOf(stageId: StageId): Promise<Decision[]>;
  find(stageId: StageId, requestId: RequestId): Promise<StoredRequest | null>;
  /** The decision; null for a request that is open or unknown. */
  findDecision(stageId: StageId, requestId: RequestId): Promise<Decision | null>;
  /** Returns false, and changes nothing, if the stage already has a request with that id. */
  open(request: PendingRequest, launchId: LaunchId): Promise<boolean>;
  /** Records a decision without a preceding open request. Returns false, and changes nothing, if the stage already has that id. */
  addDecided(request: PendingRequest, decision: Decision, launchId: LaunchId): Promise<boolean>;
  /** The outcomes of all requests and denials about one tool call. */
  outcomesOf(stageId: StageId, toolUseId: string): Promise<(string | null)[]>;
  /** Records the decision on a request, or replaces it. */
  decide(decision: Decision): Promise<void>;
  /** Call before the stage is removed. Keeps its decisions in the log, and drops requests that nobody can decide or settle then. */
  keepOf(stage: Stage): Promise<void>;
  /**
   * The decision log, newest first: at most `limit`, and no more than a page holds. `next` is where the following page
   * begins (its decisions were made before that instant). Decisions of one instant stay on one page, so a page can be a
   * little longer than that.
   */
  decisions(query: DecisionQuery): Promise<{ decisions: Decision[]; next: string | null }>;
}
