import type { PermissionRule, ProjectId, RequestId, StageId, UsedRule } from '@callboard/contract';

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
