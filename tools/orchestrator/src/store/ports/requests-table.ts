import {
  AnswerBody,
  ApproveBody,
  type Decision,
  type DecisionFilter,
  DelayedAnswer,
  type LaunchId,
  type PendingRequest,
  type ProjectId,
  type RequestId,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { z } from 'zod';

/** The browser or terminal in which an answer was given; left out if unknown. */
const device = z.string().optional();

/** An answer as a person gave it. */
export const GivenAnswer = z.discriminatedUnion('command', [
  z.object({ command: z.literal('approve'), body: ApproveBody, device }),
  z.object({ command: z.literal('answer'), body: AnswerBody, device }),
]);
export type GivenAnswer = z.infer<typeof GivenAnswer>;

/** An answer that is held back, and all that it takes to send it. */
export const DelayedAnswerRow = DelayedAnswer.extend({ given: GivenAnswer });
export type DelayedAnswerRow = z.infer<typeof DelayedAnswerRow>;

/** A request to a person. `decision` is null while it waits. */
export interface StoredRequest {
  request: PendingRequest;
  launchId: LaunchId;
  decision: Decision | null;
  /** The answer that is held back; null if there is none. */
  hold: DelayedAnswerRow | null;
}

/** Which request. */
export type RequestAddress = Pick<PendingRequest, 'stageId' | 'requestId'>;

/** A call that a person was asked to allow, and what became of it: what a rule is compared with. */
export interface AnsweredCall {
  ordinal: number;
  stageId: StageId;
  requestId: RequestId;
  stageTitle: string | null;
  toolName: string;
  /** The fields that rules look at; empty if the input is too long to compare. */
  input: Readonly<Record<string, unknown>>;
  /** The folder that its stage works in; null if the stage is gone. */
  folder: string | null;
  outcome: 'allowed' | 'denied' | 'timed-out';
  by: string | null;
  at: string;
  asked: string;
  waitedMs: number;
  reason: string | null;
  /** False if a rule might not have helped: Claude Code offered none, a path kept it from running, or a person changed it. */
  isRulable: boolean;
  /** No rule ever helps: Claude Code forbids it, or the command leaves the sandbox. */
  isBarred: boolean;
}

/** Which answered calls to read: those of a project or a stage, within a range of ordinals (both ends included). */
export interface AnsweredCallsQuery {
  projectId: ProjectId;
  stageId?: StageId | undefined;
  from: number;
  to: number;
  /** Only calls of this tool. */
  toolName: string;
  /** Only calls whose request contains this text. */
  text?: string | undefined;
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
  /** All stored under this id: a CLI's own ids are unique, others need not be. */
  findAll(requestId: RequestId): Promise<StoredRequest[]>;
  /** Holds an answer to a request back, or forgets the one that is. A decision forgets it too. */
  hold(place: RequestAddress, pause: DelayedAnswerRow | null): Promise<void>;
  /** Records the decision on a request, or replaces it. */
  decide(decision: Decision): Promise<void>;
  /** Call before the stage is removed. Keeps its decisions in the log, and drops requests that nobody can decide or settle then. */
  retainOf(stage: Stage): Promise<void>;
  /**
   * The decision log, newest first: at most `limit`, and no more than a page holds. `next` is where the following page
   * begins (its decisions were made before that instant). Decisions of one instant stay on one page, so a page can be a
   * little longer than that.
   */
  decisions(query: DecisionQuery): Promise<{ decisions: Decision[]; next: string | null }>;
  /** The ordinal of the newest request; 0 if there is none. */
  newestOrdinal(): Promise<number>;
  /** Answered calls, newest first. Reads what rules look at, never a whole request. */
  answeredCalls(query: AnsweredCallsQuery): Promise<AnsweredCall[]>;
  /** How many calls were answered, of any tool, and when the oldest of them was. */
  countAnswered(
    query: Omit<AnsweredCallsQuery, 'toolName' | 'text'>,
  ): Promise<{ count: number; oldest: string | null }>;
}
