/** The columns of the tables about this machine and the store itself. */

interface UsageLimitsColumns {
  /** `reported` or `settings`. */
  name: string;
  /** A `UsageLimits` or `LimitSettings`, whole. */
  document: string;
}

interface SpendingColumns {
  /** The local day of the server, `2026-01-31`. */
  day: string;
  stage_id: string;
  project_id: string;
  usd: number;
  tokens: number;
}

interface PausesColumns {
  /** `all`, or `project:` and its id. */
  scope: string;
  /** A `Hold`, whole. */
  document: string;
}

export const pauseStatements = [
  `create table holds (scope text primary key, document text not null)`,
  // A hold now keeps a started stage as well, which nobody asked for before.
  {
    sqlite: `update stages set document = json_set(document, '$.held', json('false'))
     where json_extract(document, '$.held') and id in (select stage_id from sessions)`,
  },
];

interface BudgetsColumns {
  /** As `scopeKey` of the contract. */
  scope: string;
  /** A `BudgetRecord`, whole. */
  document: string;
}

interface BootColumns {
  /** The machine's boot id when the store was last opened. */
  id: string;
}

/** SQLite's table with the highest number that each table has used. */
interface SequenceColumns {
  name: string;
  seq: number;
}

/** PostgreSQL's single row that each writer locks. */
interface ClusterStateColumns {
  /** The number of the newest commit. */
  commit: number;
  /** The number of the newest event. */
  seq: number;
}

/** PostgreSQL's: which commit has given which row of the outbox to a launch. */
interface GivenRowsColumns {
  commit: number;
  row_id: string;
  launch_id: string;
}

interface CountersColumns {
  name: string;
  value: number;
}

export interface MachineSchema {
  usage_limits: UsageLimitsColumns;
  spending: SpendingColumns;
  holds: PausesColumns;
  budgets: BudgetsColumns;
  counters: CountersColumns;
  boot: BootColumns;
  sqlite_sequence: SequenceColumns;
  cluster_state: ClusterStateColumns;
  given_rows: GivenRowsColumns;
}
