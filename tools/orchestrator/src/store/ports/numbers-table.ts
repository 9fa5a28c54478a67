import type { LaunchSpan, Numbers, ProjectId, RequestKind, StageId, WaitSpan } from '@callboard/contract';

/** From an instant, included, to another, not included. */
export interface Span {
  from: string;
  to: string;
}

/** The requests of one kind in one stage that ended, and how long they had waited together. */
export interface StageWaits {
  stageId: StageId;
  kind: RequestKind;
  count: number;
  waitedMs: number;
}

/**
 * Figures for charts, counted where they are stored. A span of one day takes a millisecond or two for a thousand requests, so a caller
 * asks day by day. Calls that Claude Code decided without asking count nowhere.
 */
export interface NumbersTable {
  /** How long the requests that ended in this span had waited. */
  waits(span: Span): Promise<StageWaits[]>;
  /** The requests that ended in this span after at least `leastMs`, newest first. */
  longWaits(span: Span, leastMs: number): Promise<WaitSpan[]>;
  /** The requests that are open, oldest first. */
  openWaits(): Promise<WaitSpan[]>;
  /** How long each of the newest calls waited that a person allowed or denied in this span. */
  approvalWaits(span: Span, limit: number): Promise<number[]>;
  /** How many calls rules let through in this span: one that several rules let through together is one. */
  ruledCalls(span: Span): Promise<number>;
  ruleUses(span: Span): Promise<{ ruleId: string; count: number }[]>;
  ruleTexts(ruleIds: readonly string[]): Promise<{ ruleId: string; rule: string; projectId: ProjectId }[]>;
  /** The launches that ran in this span, newest first. */
  launches(span: Span, limit: number): Promise<LaunchSpan[]>;
  /** How many of the launches that began in `begun` ran in `span`, and how long within it; those that have not ended, until `now`. */
  ran(begun: Span, span: Span, now: string): Promise<{ count: number; ranMs: number }>;
  /** Names stages, also deleted ones that left decisions. */
  stagesOf(stageIds: readonly StageId[]): Promise<Numbers['stages']>;
}
