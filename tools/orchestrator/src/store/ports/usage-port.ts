import type {
  Budget,
  BudgetScope,
  LaunchSpan,
  LimitSettings,
  LimitsView,
  MachineId,
  Numbers,
  Pause,
  PauseScope,
  ProjectId,
  RequestKind,
  Spending,
  StageId,
  UsageLimits,
  WaitSpan,
} from '@callboard/contract';

/** What a stage has spent on one day. */
export interface DaySpending extends Spending {
  /** `2026-01-31`, the local day of the server when it became known. */
  day: string;
  projectId: ProjectId;
  stageId: StageId;
}

/** What was spent, by day and stage (docs/decisions/limits.md). It stays when a stage is deleted. */
export interface SpendingTable {
  /** Adds to the day and the stage. */
  add(spent: DaySpending): Promise<void>;
  /** Returns what was spent on these days, both included, by day and stage. */
  list(from: string, to: string): Promise<DaySpending[]>;
  /** The sum over a stage, a project, a day, or everything. @param today the day that `{day: true}` means */
  sum(scope: BudgetScope, today: string): Promise<Spending>;
}

/** A stored budget. */
export type BudgetRecord = Omit<Budget, 'spent'> & {
  /** The period for which a person was warned; null: for none yet. */
  warnedFor: string | null;
};

export interface BudgetsTable {
  list(): Promise<BudgetRecord[]>;
  /** Inserts or replaces the budget of its scope. */
  save(budget: BudgetRecord): Promise<void>;
  remove(scope: BudgetScope): Promise<void>;
}

/** What people keep on hold beside single stages, which have a field for it: projects, or everything. */
export interface PausesTable {
  list(): Promise<Pause[]>;
  /** Inserts or replaces the hold of its scope. */
  save(pause: Pause): Promise<void>;
  remove(scope: PauseScope): Promise<void>;
}

/** The usage limits of Claude accounts, and what happens at one. Machines that share a store have an account each. */
export interface LimitsTable {
  /** Returns the limits as last reported, with the settings in force. */
  view(of?: MachineId): Promise<LimitsView>;
  saveReported(limits: UsageLimits, of?: MachineId): Promise<void>;
  saveSettings(settings: LimitSettings): Promise<void>;
}

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
