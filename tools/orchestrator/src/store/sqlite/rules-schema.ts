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
  rule_dismissals: RuleDismissalsColumns;
  denial_retries: DenialRetriesColumns;
}
