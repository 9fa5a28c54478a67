import type { PermissionRule, ProjectId, StageId, UsedRule } from '@callboard/contract';

/** A call that a rule let through. */
export interface RuleUse {
  ruleId: string;
  stageId: StageId;
  toolUseId: string;
  /** The call in one line. */
  asked: string;
  at: string;
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
  /** All rules of one project, or of all of them, with their use. */
  listUsed(projectId: ProjectId | undefined): Promise<UsedRule[]>;
  /** Rules of all projects that have an end date and have not ended. */
  listEnding(): Promise<PermissionRule[]>;
  /** Inserts or replaces it. */
  save(rule: PermissionRule): Promise<void>;
  /** Records a use. A use that is there already is not counted again. */
  addUse(use: RuleUse): Promise<void>;
  /** How often each of these rules had been allowed when its offer was put away. */
  dismissals(projectId: ProjectId, rules: readonly string[]): Promise<ReadonlyMap<string, number>>;
  saveDismissal(projectId: ProjectId, rule: string, times: number): Promise<void>;
}
