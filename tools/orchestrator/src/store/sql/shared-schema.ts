/** The columns of the tables about the machines that share the store. */
export interface SharedSchema {
  machines: {
    id: string;
    epoch: number;
    /** A `MachineState`. */
    state: string;
    since: string;
    /** Milliseconds of the store's clock. */
    lease_until: number;
    seen_at: string;
    /** A `MachineReport`, whole. */
    report: string;
    /** When it was taken off the list; null while it is on it. */
    removed_at: string | null;
    /** When it was declared lost; null once it has come back, and has kept the work of its former stages. */
    lost_at: string | null;
  };
  former_worktrees: {
    machine_id: string;
    path: string;
    stage_id: string;
    /** A `OrphanedWorktree`, whole. */
    document: string;
  };
  project_places: { project_id: string; machine_id: string; path: string; remote: string | null };
  machine_commands: {
    id: string;
    machine_id: string;
    /** A `StoredCommand`, whole. */
    document: string;
    /** Milliseconds of the store's clock. */
    deadline: number;
    /** 0, or 1 once somebody has taken it. */
    taken: number;
    /** JSON; null until it is answered. */
    reply: string | null;
  };
}

export const sharedStatements = [
  `create table machines (
     id text primary key, epoch integer not null, state text not null, since text not null, lease_until bigint not null,
     seen_at text not null, report text not null)`,
  `create table project_places (
     project_id text not null references projects(id) on delete cascade,
     machine_id text not null references machines(id) on delete cascade, path text not null, remote text,
     primary key (project_id, machine_id))`,
  `create table machine_commands (
     id text primary key, machine_id text not null references machines(id) on delete cascade, document text not null,
     deadline bigint not null, taken integer not null, reply text)`,
  `create index machine_commands_waiting on machine_commands(machine_id) where taken = 0`,
  `alter table stages add column machine_id text`,
  `create index stages_by_machine on stages(machine_id)`,
];

/**
 * The worktrees of stages that were lost before this table existed, and have not been started since. Only PostgreSQL has machines.
 * No reference to the stage: the machine cleans up after a stage that was deleted, too.
 */
export const writerTimeStatements = [
  { postgres: 'alter table writers add column if not exists at timestamptz not null default now()' },
];

/** From here on, transactions of several machines run side by side: an older release, which knows one lock alone, stops writing. */
export const sideBySideStatements = [
  { postgres: 'alter table cluster_state add column if not exists alone bigint not null default 0' },
];

export const removedMachineStatements = [
  'alter table machines add column removed_at text',
  'alter table machines add column lost_at text',
  "update machines set lost_at = since where state = 'lost'",
];

export const orphanedWorktreeStatements = [
  `create table former_worktrees (
     machine_id text not null references machines(id) on delete cascade, path text not null, stage_id text not null,
     document text not null, primary key (machine_id, path))`,
  {
    postgres: `insert into former_worktrees (machine_id, path, stage_id, document)
       select lost ->> 'machineId', lost #>> '{worktree,path}', id, json_build_object(
         'machineId', lost ->> 'machineId', 'stageId', id, 'stageTitle', stage ->> 'title', 'projectId', project_id,
         'projectName', name, 'repository', place, 'worktree', lost -> 'worktree', 'isKept', false, 'isTaken', false,
         'told', null)::text
       from (select s.id, s.project_id, p.name, pp.path as place, callboard_json(s.document) as stage,
               callboard_json(s.document) -> 'lost' as lost
             from stages s join projects p on p.id = s.project_id
             left join project_places pp on pp.project_id = s.project_id
               and pp.machine_id = callboard_json(s.document) #>> '{lost,machineId}') found
       where lost #>> '{worktree,path}' is not null and lost ->> 'machineId' in (select id from machines)`,
  },
];

export const creationStatements = [
  'alter table stages add column creation_id text',
  'create unique index stages_by_creation on stages(creation_id)',
];

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
  /** How many transactions have locked all others out. */
  alone: number;
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
