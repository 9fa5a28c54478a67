import { type Migration, spendingStatements } from './migration-statements.ts';
import { denialRetryStatements, ruleUseStatements, webhookStatements } from './schema.ts';
import {
  creationStatements,
  orphanedWorktreeStatements,
  pauseStatements,
  removedMachineStatements,
  sharedStatements,
  sideBySideStatements,
  writerTimeStatements,
} from './shared-schema.ts';

/**
 * Forward only, run at start, each in one transaction. A migration that has been released is never changed.
 * `counters` holds the highest event number ever given and the next stage number, so that neither is used twice.
 */
export const migrations: readonly Migration[] = [
  {
    id: 1,
    statements: [
      `create table projects (id text primary key, name text not null, path text not null unique, settings text not null, created_at text not null)`,
      `create table stages (
         ordinal integer primary key autoincrement, id text not null unique, project_id text not null references projects(id),
         completed_at text, document text not null)`,
      `create table sessions (stage_id text primary key references stages(id) on delete cascade, state text not null, document text not null)`,
      `create table launches (
         id text primary key, stage_id text not null references stages(id) on delete cascade, state text not null, folder text not null,
         process text, spool_offset integer not null default 0, created_at text not null, ended_at text, end_reason text)`,
      `create index launches_by_state on launches(state)`,
      `create table outbox (
         ordinal integer primary key autoincrement, id text not null unique, stage_id text not null references stages(id) on delete cascade,
         launch_id text, kind text not null, state text not null, wire_id text not null, body text not null, actor text,
         position integer not null, writing integer not null default 0, created_at text not null, written_at text,
         confirmed_at text, void_reason text)`,
      `create index outbox_by_launch on outbox(launch_id, state)`,
      `create index outbox_by_stage on outbox(stage_id, kind, state)`,
      `create index outbox_by_wire_id on outbox(wire_id)`,
      `create table requests (
         ordinal integer primary key autoincrement, stage_id text not null references stages(id) on delete cascade, request_id text not null, launch_id text not null,
         state text not null, kind text not null, tool_name text not null, document text not null, decision text,
         outcome text, decided_by text, created_at text not null, decided_at text,
         unique (stage_id, request_id))`,
      `create index requests_by_state on requests(state, created_at)`,
      `create index requests_by_decision on requests(decided_at)`,
      `create table transcript (
         stage_id text not null references stages(id) on delete cascade, "index" integer not null, document text not null,
         primary key (stage_id, "index")) without rowid`,
      {
        sqlite: `create table events (seq integer primary key autoincrement, at text not null, type text not null, data text not null)`,
        // `cluster_state` has the numbers: a sequence would leave gaps, and give them in another order than that of commits.
        postgres: `create table events (seq integer primary key, at text not null, type text not null, data text not null)`,
      },
      `create table rules (
         id text primary key, project_id text not null references projects(id) on delete cascade,
         stage_id text references stages(id) on delete cascade, document text not null)`,
      `create table drafts (
         stage_id text not null references stages(id) on delete cascade, key text not null, document text not null,
         primary key (stage_id, key))`,
      `create table draft_files (
         id text not null, stage_id text not null references stages(id) on delete cascade, added_at text not null,
         document text not null, primary key (stage_id, id))`,
      `create table capabilities (
         stage_id text primary key references stages(id) on delete cascade, at text not null, document text not null)`,
      `create table logins (secret_hash text primary key, kind text not null, name text not null, created_at text not null, expires_at text)`,
      `create table counters (name text primary key, value integer not null)`,
      `insert into counters (name, value) values ('stage', 0)`,
    ],
  },
  { id: 2, statements: [`alter table projects add column git text`] },
  {
    id: 3,
    statements: [
      `alter table logins add column login_id text`,
      `alter table logins add column page_key text`,
      `alter table logins add column origin text`,
      `alter table logins add column browser text`,
      // These logins have no key, so a cookie alone would be a login.
      `delete from logins where kind = 'session'`,
      `create unique index logins_by_id on logins(login_id)`,
    ],
  },
  {
    // Decisions outlive their stage: no foreign key, and columns for the title and project of a deleted stage.
    id: 4,
    statements: [
      `alter table requests rename to requests_1`,
      `drop index requests_by_state`,
      `drop index requests_by_decision`,
      `create table requests (
         ordinal integer primary key autoincrement, stage_id text not null, request_id text not null, launch_id text not null,
         state text not null, kind text not null, tool_name text not null, document text not null, decision text,
         outcome text, decided_by text, created_at text not null, decided_at text, stage_title text, project_id text,
         unique (stage_id, request_id))`,
      `insert into requests (ordinal, stage_id, request_id, launch_id, state, kind, tool_name, document, decision, outcome,
         decided_by, created_at, decided_at)
       select ordinal, stage_id, request_id, launch_id, state, kind, tool_name, document, decision, outcome, decided_by,
         created_at, decided_at from requests_1`,
      `drop table requests_1`,
      `create index requests_by_state on requests(state, created_at)`,
      `create index requests_by_decision on requests(decided_at)`,
    ],
  },
  {
    id: 5,
    statements: [
      `alter table projects add column trust text`,
      `alter table launches add column settings text`,
      `create table agreed (scope text primary key, document text not null)`,
      // Earlier agreements stay valid: hooks that a person had agreed to, with everything they could have done anyway, and
      // rules that were allowed in a terminal. Decision 039.
      {
        sqlite: `insert into agreed (scope, document) select 'project:' || id, json_object('adopt',
         case when json_extract(settings, '$.runRepositoryHooks') then 'all' else 'personal' end) from projects`,
      },
    ],
  },
  { id: 6, statements: [`alter table launches add column leftovers text`] },
  { id: 7, statements: [{ sqlite: `create table boot (id text not null)` }] },
  {
    // The state of a session's launch was called `phase`, which is a step of a pipeline.
    id: 8,
    statements: [
      {
        sqlite: `update sessions set document = json_remove(
         json_set(document, '$.launchState', json_extract(document, '$.phase')), '$.phase')`,
      },
    ],
  },
  {
    // What is kept for one person, who is a name in the decision log.
    id: 9,
    statements: [
      `create table people (name text primary key, presentation text not null)`,
      `create table later (
         person text not null, stage_id text not null references stages(id) on delete cascade, request_id text not null,
         until text, primary key (person, stage_id, request_id))`,
    ],
  },
  {
    id: 10,
    statements: [
      `create table merge_intents (
         stage_id text primary key references stages(id) on delete cascade, document text not null)`,
    ],
  },
  {
    // The files of a stage's first message.
    id: 12,
    statements: [
      `create table attachments (
         id text not null, stage_id text not null references stages(id) on delete cascade, document text not null,
         primary key (stage_id, id))`,
    ],
  },
  {
    // What the project runs in worktrees, and what its own file says about that.
    id: 13,
    statements: [
      `create table worktree_commands (
         ordinal integer primary key autoincrement, id text not null unique,
         stage_id text not null references stages(id) on delete cascade, state text not null, process text,
         document text not null)`,
      `create index worktree_commands_by_stage on worktree_commands(stage_id, ordinal)`,
      `create index worktree_commands_by_state on worktree_commands(state)`,
      `create table port_ranges (
         stage_id text primary key references stages(id) on delete cascade, place integer not null unique,
         base integer not null)`,
      `alter table projects add column file text`,
    ],
  },
  {
    // A person's review of a stage's changes.
    id: 14,
    statements: [
      `create table comments (
         ordinal integer primary key autoincrement, stage_id text not null references stages(id) on delete cascade, id text not null,
         message_id text, answered_at text, document text not null, unique (stage_id, id))`,
      `create table viewed (
         stage_id text not null references stages(id) on delete cascade, person text not null, path text not null,
         version text not null, primary key (stage_id, person, path))`,
      `create table turn_marks (
         stage_id text not null references stages(id) on delete cascade, at text not null, tree text not null,
         primary key (stage_id, at))`,
    ],
  },
  {
    id: 15,
    statements: [
      `create table checks (
         ordinal integer primary key autoincrement, id text not null unique,
         stage_id text not null references stages(id) on delete cascade, state text not null, document text not null)`,
      `create index checks_by_state on checks(state)`,
      `create index checks_by_stage on checks(stage_id)`,
      `create table phase_runs (
         ordinal integer primary key autoincrement,
         stage_id text not null references stages(id) on delete cascade, document text not null)`,
      `create index phase_runs_by_stage on phase_runs(stage_id)`,
    ],
  },
  {
    // What Claude is asked beside the conversations.
    id: 19,
    statements: [
      `create table side_runs (
         ordinal integer primary key autoincrement, id text not null unique,
         stage_id text not null references stages(id) on delete cascade, state text not null, process text,
         document text not null)`,
      `create index side_runs_by_state on side_runs(state)`,
      `create index side_runs_by_stage on side_runs(stage_id)`,
    ],
  },
  // What was found in the folders whose stages follow their files.
  { id: 20, statements: [`alter table projects add column stage_folders text`] },
  {
    // What it takes to go back to the moment of a mark.
    id: 21,
    statements: [
      `alter table turn_marks add column commit_id text`,
      `alter table turn_marks add column place integer`,
      `alter table turn_marks add column conversation_id text`,
      `alter table turn_marks add column phase_index integer not null default 0`,
    ],
  },
  // Answers that are kept back for a moment.
  { id: 22, statements: [`alter table requests add column held text`] },
  // The usage limits of the account, and what happens at one.
  { id: 23, statements: [`create table usage_limits (name text primary key, document text not null)`] },
  {
    // What rules were used for, and which offers of rules were put away.
    id: 24,
    statements: [
      `create table rule_uses (
         ordinal integer primary key autoincrement, rule_id text not null references rules(id) on delete cascade,
         stage_id text not null, tool_use_id text not null, asked text not null, at text not null,
         unique (rule_id, stage_id, tool_use_id))`,
      `create table rule_dismissals (
         project_id text not null references projects(id) on delete cascade, rule text not null, times integer not null,
         primary key (project_id, rule))`,
    ],
  },
  // What is signalled to a person, and how.
  { id: 25, statements: [`alter table people add column alerts text`] },
  {
    // What people are told, through which channel, and the browsers that it is pushed to.
    id: 26,
    statements: [
      `create table announcements (
         ordinal integer primary key autoincrement, key text not null unique, stage_id text not null, settled_at text,
         document text not null)`,
      `create index announcements_open on announcements(stage_id) where settled_at is null`,
      `create table deliveries (
         id integer primary key autoincrement, announcement_key text not null references announcements(key) on delete cascade,
         channel text not null, target text not null, phase text not null, state text not null,
         attempts integer not null default 0, due_at text not null, error text,
         unique (announcement_key, channel, target, phase))`,
      `create index deliveries_queued on deliveries(due_at) where state = 'queued'`,
      `create table push_keys (id integer primary key check (id = 1), public_key text not null, private_key text not null)`,
      `create table push_devices (
         ordinal integer primary key autoincrement, id text not null unique, endpoint text not null unique,
         document text not null)`,
    ],
  },
  { id: 27, statements: spendingStatements },
  {
    // What charts count, without reading a request. `numbersTable` repeats the expression.
    id: 28,
    statements: [
      `drop index requests_by_decision`,
      {
        sqlite: `create index requests_by_decision on requests(
         decided_at, kind, stage_id, outcome, decided_by, json_extract(decision, '$.waitedMs'))`,
        postgres: `create index requests_by_decision on requests(
         decided_at, kind, stage_id, outcome, decided_by, ((callboard_json(decision) #>> '{waitedMs}')::double precision))`,
      },
      `create index launches_by_time on launches(created_at, ended_at, stage_id)`,
      `create index rule_uses_by_time on rule_uses(at, rule_id)`,
    ],
  },
  { id: 29, statements: denialRetryStatements },
  // Calls to the outside, and what became of each.
  { id: 30, statements: webhookStatements },
  // What people keep on hold, beside single stages.
  { id: 31, statements: pauseStatements },
  { id: 32, statements: [`create table budgets (scope text primary key, document text not null)`] },
  { id: 33, statements: ruleUseStatements },
  // The machines that share a store.
  { id: 34, statements: sharedStatements },
  // When each process that writes to a shared store did so last, so that those that have ended are forgotten.
  { id: 35, statements: writerTimeStatements },
  // When a machine was taken off the list, and what it owes to the stages that were taken from it.
  { id: 36, statements: removedMachineStatements },
  // The worktrees that machines had when they were declared lost.
  { id: 37, statements: orphanedWorktreeStatements },
  // What makes a repeat of the command that created a stage harmless.
  { id: 38, statements: creationStatements },
  // How many transactions of a shared store have locked all others out.
  { id: 39, statements: sideBySideStatements },
];
