import {
  type AlertSettings,
  AnswerBody,
  ApproveBody,
  type Decision,
  type DecisionFilter,
  DelayedAnswer,
  type Later,
  type LaunchId,
  type Me,
  type MessageId,
  type PendingRequest,
  type PermissionRule,
  type Presentation,
  type ProjectId,
  type RequestId,
  type Stage,
  type StageId,
  type TranscriptEntry,
  type UsedRule,
} from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { z } from 'zod';
import type {
  LaunchRecord,
  LaunchSettings,
  MessageRow,
  OutboxBody,
  OutboxRow,
  OutboxState,
  SessionRecord,
} from '../records.ts';

/** What is kept for each person, who is a name in the decision log. */
export interface PeopleTable {
  /** A person whom nothing is kept for has the defaults. `later` lists open requests only. */
  find(name: string): Promise<Me>;
  saveSettings(name: string, settings: { presentation: Presentation; alerts: AlertSettings }): Promise<void>;
  /** The open requests that anybody set aside until an instant, by that instant. */
  listReturning(): Promise<(Later & { person: string; until: string })[]>;
  /** Inserts or replaces it, and forgets what was set aside and is no longer open. */
  saveLater(person: string, later: Later): Promise<void>;
  /** Returns whether it was set aside. */
  removeLater(person: string, stageId: StageId, requestId: RequestId): Promise<boolean>;
}

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

/** A call that a rule let through. */
export interface RuleUse {
  ruleId: string;
  stageId: StageId;
  toolUseId: string;
  /** The place of the call in the transcript. */
  entry: number;
  /** The call in one line. */
  asked: string;
  at: string;
}

/** A denied call that a person has allowed, and that Claude is yet to be told to make again. */
export interface DenialRetryIntent {
  stageId: StageId;
  requestId: RequestId;
  /** Who allowed it. */
  actor: string;
}

/** Permissions that people granted, oldest first. A rule that has ended stays: receipts and running sessions refer to it. */
export interface RulesTable {
  find(id: string): Promise<PermissionRule | null>;
  /** Rules that apply at this instant: of the project and of each of its stages. */
  listOf(projectId: ProjectId, at: string): Promise<PermissionRule[]>;
  /** Rules that apply in this stage at this instant: those of its project and its own. */
  listFor(projectId: ProjectId, stageId: StageId, at: string): Promise<PermissionRule[]>;
  /** All rules that ever applied in this stage. */
  listEver(projectId: ProjectId, stageId: StageId): Promise<PermissionRule[]>;
  /** All rules that there ever were, of one project or of all of them. */
  listAll(projectId: ProjectId | undefined): Promise<PermissionRule[]>;
  /** Returns these rules with their use, in their order. Its time grows with these rules, and not with all uses on record. */
  withUse(rules: readonly PermissionRule[]): Promise<UsedRule[]>;
  /** Rules of all projects that have an end date and have not ended. */
  listEnding(): Promise<PermissionRule[]>;
  /** Inserts or replaces it. */
  save(rule: PermissionRule): Promise<void>;
  /** Records a use. A use that is there already is not counted again. */
  addUse(use: RuleUse): Promise<void>;
  /** How often each of these rules had been allowed when its offer was put away. */
  dismissals(projectId: ProjectId, rules: readonly string[]): Promise<ReadonlyMap<string, number>>;
  saveDismissal(projectId: ProjectId, rule: string, times: number): Promise<void>;
  /** Keeps an intent. One that is there already stays as it is. */
  addRetry(intent: DenialRetryIntent): Promise<void>;
  listRetries(): Promise<DenialRetryIntent[]>;
  /** Removes an intent and returns it; null if there is none. */
  removeRetry(stageId: StageId, requestId: RequestId): Promise<DenialRetryIntent | null>;
}

/** One session for each stage that has ever been started. A record is never changed in place. */
export interface SessionsTable {
  list(): Promise<SessionRecord[]>;
  find(stageId: StageId): Promise<SessionRecord | null>;
  /** Inserts or replaces it. */
  save(record: SessionRecord): Promise<void>;
}

/** Launches, oldest first. */
export interface LaunchesTable {
  listNotEnded(): Promise<LaunchRecord[]>;
  listOf(stageId: StageId): Promise<LaunchRecord[]>;
  find(id: LaunchId): Promise<LaunchRecord | null>;
  /** Its state is `starting`. */
  insert(launch: Pick<LaunchRecord, 'id' | 'stageId' | 'folder' | 'createdAt'>): Promise<void>;
  /** @param settings if omitted, the stored ones stay */
  setLive(id: LaunchId, process: ProcessIdentity, settings?: LaunchSettings): Promise<void>;
  setOffset(id: LaunchId, offset: number): Promise<void>;
  setLeftovers(id: LaunchId, leftovers: readonly ProcessIdentity[]): Promise<void>;
  setEnded(id: LaunchId, at: string, reason: string): Promise<void>;
}

export type NewOutboxRow = Pick<
  OutboxRow,
  'id' | 'stageId' | 'launchId' | 'wireId' | 'body' | 'actor' | 'createdAt'
> & {
  position?: number;
  /** `written`: a control request that its writer writes right after the commit. */
  state?: 'accepted' | 'written';
};

/**
 * Everything written to launches, and the messages that wait for one. After the commit, the writer of each launch gets
 * the rows that the transaction gave to it: see `Store.onGiven`.
 */
export interface OutboxTable {
  insert(row: NewOutboxRow): Promise<OutboxRow>;
  find(id: string): Promise<OutboxRow | null>;
  /** The launch's newest row with that wire id. */
  findByWireId(launchId: LaunchId, wireId: string): Promise<OutboxRow | null>;
  /** The launch's control requests since that instant that were not dropped, newest first. */
  controlsSince(launchId: LaunchId, since: string): Promise<OutboxRow[]>;
  /** The launch's rows in one of these states, in the order in which they are written. */
  listOf(launchId: LaunchId, states: readonly OutboxState[]): Promise<OutboxRow[]>;
  /** How many messages the launch has received but not begun to work on. */
  countUnread(launchId: LaunchId): Promise<number>;
  /** The stage's queue, in order: messages that are accepted and belong to no launch yet. */
  queueOf(stageId: StageId): Promise<MessageRow[]>;
  countQueued(stageId: StageId): Promise<number>;
  /** The highest position of any message of the stage so far; 0 before the first. */
  lastPosition(stageId: StageId): Promise<number>;
  findQueued(stageId: StageId, messageId: MessageId): Promise<MessageRow | null>;
  /** The stage's message with that id, in any state. */
  findMessage(stageId: StageId, messageId: MessageId): Promise<MessageRow | null>;
  /** Gives a queued message to a launch. @param body its new content */
  give(row: MessageRow, launchId: LaunchId, body: MessageRow['body']): Promise<void>;
  /** Moves a row to the queue (null), or to a launch whose writer has not started: that writer lists its rows itself. */
  assign(id: string, launchId: LaunchId | null): Promise<void>;
  setBody(id: string, body: OutboxBody): Promise<void>;
  setPosition(id: string, position: number): Promise<void>;
  /** A line too long for one atomic write is being written. */
  setWriting(id: string): Promise<void>;
  /**
   * Does nothing for a row that is already confirmed or void (the echo may overtake the writer's bookkeeping), or that
   * went back to the queue or to another launch.
   */
  setWritten(row: Pick<OutboxRow, 'id' | 'launchId'>, at: string): Promise<void>;
  setConfirmed(id: string, at: string): Promise<void>;
  setVoid(id: string, reason: string): Promise<void>;
}

export interface TranscriptPage {
  after: number | undefined;
  before: number | undefined;
  limit: number;
}

/** Transcripts, in pages. */
export interface TranscriptTable {
  append(entries: readonly TranscriptEntry[]): Promise<void>;
  /** The message with this id that was given to Claude; null if there is none. */
  findMessage(stageId: StageId, messageId: MessageId): Promise<Extract<TranscriptEntry, { kind: 'user' }> | null>;
  /** The tool call with this id; null if there is none. Reads from the newest entry back, in slices. */
  findCall(stageId: StageId, toolUseId: string): Promise<Extract<TranscriptEntry, { kind: 'tool-use' }> | null>;
  /** Counts the messages to Claude from this entry on. */
  countMessages(stageId: StageId, from: number): Promise<number>;
  /**
   * Entries in ascending order: from `after` on if given, else the last ones before `before` (or of all).
   * Returns at most `limit`, and no more than a page holds.
   */
  page(stageId: StageId, page: TranscriptPage): Promise<TranscriptEntry[]>;
}
