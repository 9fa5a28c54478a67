import type { Generated } from 'kysely';

interface RulesColumns {
  id: string;
  project_id: string;
  /** Null for a rule of the whole project. */
  stage_id: string | null;
  /** A `PermissionRule`, whole. */
  document: string;
}

interface RuleUsesColumns {
  ordinal: Generated<number>;
  rule_id: string;
  stage_id: string;
  tool_use_id: string;
  /** Its place in the transcript; null for a use under an earlier Callboard. */
  entry: number | null;
  /** The call in one line. */
  asked: string;
  at: string;
}

/** How often a rule let a call through, by the call: kept along with `rule_uses`, which is never pruned. */
interface RuleUseCountsColumns {
  rule_id: string;
  asked: string;
  times: number;
  last_at: string;
}

interface RuleDismissalsColumns {
  project_id: string;
  rule: string;
  /** How often it had been allowed by then. */
  times: number;
}

interface DenialRetriesColumns {
  stage_id: string;
  request_id: string;
  /** Who allowed the call. */
  actor: string;
}

/** The columns of the tables about permission rules. */
export interface RulesSchema {
  rules: RulesColumns;
  rule_uses: RuleUsesColumns;
  rule_use_counts: RuleUseCountsColumns;
  rule_dismissals: RuleDismissalsColumns;
  denial_retries: DenialRetriesColumns;
}

/** Where a rule was used, and calls that a person allowed after Claude Code had denied them, until Claude is told. */
export const denialRetryStatements = [
  `alter table rule_uses add column entry integer`,
  `create table denial_retries (
     stage_id text not null references stages(id) on delete cascade, request_id text not null, actor text not null,
     primary key (stage_id, request_id))`,
];

/** The newest uses of a rule are found, and its uses counted, without reading all of them. */
export const ruleUseStatements = [
  `create index rule_uses_by_rule on rule_uses(rule_id, ordinal)`,
  `create table rule_use_counts (
     rule_id text not null references rules(id) on delete cascade, asked text not null, times integer not null,
     last_at text not null, primary key (rule_id, asked)) without rowid`,
  `insert into rule_use_counts select rule_id, asked, count(*), max(at) from rule_uses group by rule_id, asked`,
];
