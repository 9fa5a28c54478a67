import type { ColumnType, Generated, Kysely } from 'kysely';
import type { MachineSchema, SharedSchema } from './shared-schema.ts';

/** The tables' columns in the database. Instants are ISO 8601 UTC texts, flags are 0 or 1, documents are JSON texts. */

type Flag = ColumnType<number, number, number>;

interface ProjectsColumns {
  id: string;
  name: string;
  path: string;
  /** A `ProjectSettings`. */
  settings: string;
  created_at: string;
  /** A `GitAgreement`; null before the first check of its git settings. */
  git: string | null;
  /** A `ProjectTrust`; null before the first check. */
  trust: string | null;
  /** A `ProjectFile`; null if the repository has none. */
  file: string | null;
  /** The list of `StageFolder`; null before the first one. */
  stage_folders: string | null;
}

interface AgreedColumns {
  /** `user`, or `project:<id>`. */
  scope: string;
  /** An `AgreedSettings`, whole. */
  document: string;
}

interface StagesColumns {
  ordinal: Generated<number>;
  id: string;
  project_id: string;
  completed_at: string | null;
  /** A `Stage` of the contract, whole. */
  document: string;
  /** The machine that has claimed it. */
  machine_id: string | null;
  /** Chosen by whoever created it, so that asking again creates no second one; null if none was. */
  creation_id: string | null;
}

interface SessionsColumns {
  stage_id: string;
  state: string;
  /** A `SessionRecord`, whole. */
  document: string;
}

interface LaunchesColumns {
  id: string;
  stage_id: string;
  /** `starting` (committed before the spawn), `live`, `ended`. */
  state: string;
  folder: string;
  /** A `ProcessIdentity`; null until the spawn returned. */
  process: string | null;
  /** How many bytes of the spool have been processed and committed. */
  spool_offset: number;
  created_at: string;
  ended_at: string | null;
  end_reason: string | null;
  /** A `LaunchSettings`; null before it was spawned. */
  settings: string | null;
  /** `ProcessIdentity`s, as JSON; null if none was ever seen. */
  leftovers: string | null;
}

interface OutboxColumns {
  ordinal: Generated<number>;
  id: string;
  stage_id: string;
  /** Null for a user message that waits in the queue. */
  launch_id: string | null;
  kind: string;
  state: string;
  /** The CLI's id for it: a message's uuid, a request's id. */
  wire_id: string;
  /** The row's content as JSON; its shape depends on the kind. */
  body: string;
  /** Who caused it. */
  actor: string | null;
  /** Place among the queued messages of the stage. */
  position: number;
  /** 1 while a line too long for one atomic write is being written. */
  writing: Flag;
  created_at: string;
  written_at: string | null;
  confirmed_at: string | null;
  void_reason: string | null;
}

interface RequestsColumns {
  ordinal: Generated<number>;
  stage_id: string;
  request_id: string;
  launch_id: string;
  /** `open`, `decided`, `closed`, `unsettled` (decided, but delivery is unknown). */
  state: string;
  kind: string;
  tool_name: string;
  /** A `PendingRequest`. */
  document: string;
  /** A `Decision`; null while open. */
  decision: string | null;
  outcome: string | null;
  decided_by: string | null;
  created_at: string;
  decided_at: string | null;
  /** A `DelayedAnswerRow`, while an answer is held back. */
  held: string | null;
  /** Set, like the project, when the stage is deleted; null while it exists. */
  stage_title: string | null;
  project_id: string | null;
}

interface TranscriptColumns {
  stage_id: string;
  index: number;
  document: string;
}

interface EventsColumns {
  seq: Generated<number>;
  at: string;
  type: string;
  data: string;
}

interface DraftsColumns {
  stage_id: string;
  key: string;
  /** A `Draft`, whole. */
  document: string;
}

interface DraftFilesColumns {
  /** Chosen by the sender; unique only within its stage. */
  id: string;
  stage_id: string;
  added_at: string;
  /** An `Attachment`, whole. */
  document: string;
}

interface AttachmentsColumns {
  id: string;
  stage_id: string;
  /** An `Attachment`, whole. */
  document: string;
}

interface CapabilitiesColumns {
  stage_id: string;
  /** When it was reported. */
  at: string;
  /** A `Capabilities`. */
  document: string;
}

interface LoginsColumns {
  /** SHA-256 in hex: the secret itself is never stored. */
  secret_hash: string;
  kind: string;
  name: string;
  created_at: string;
  expires_at: string | null;
  /** The public id of a browser's or a terminal's login; null for a code. */
  login_id: string | null;
  /** A JWK. The page that logged in holds its private half. */
  page_key: string | null;
  /** The only origin under which the login is valid. */
  origin: string | null;
  browser: string | null;
}

interface PeopleColumns {
  /** The person's name in the decision log. */
  name: string;
  /** A `Presentation`. */
  presentation: string;
  /** An `AlertSettings`; null before the person has chosen any. */
  alerts: string | null;
}

interface LaterColumns {
  person: string;
  stage_id: string;
  request_id: string;
  until: string | null;
}

interface CommentsColumns {
  ordinal: Generated<number>;
  stage_id: string;
  /** Unique only within its stage: the sender may choose it. */
  id: string;
  message_id: string | null;
  answered_at: string | null;
  /** A `CommentRecord`, whole. */
  document: string;
}

interface ViewedColumns {
  stage_id: string;
  /** The person's name in the decision log. */
  person: string;
  path: string;
  version: string;
}

interface TurnMarksColumns {
  stage_id: string;
  at: string;
  /** The id of a git tree. */
  tree: string;
  commit_id: string | null;
  place: number | null;
  conversation_id: string | null;
  phase_index: number;
}

interface MergeIntentsColumns {
  stage_id: string;
  /** A `MergeIntent`. */
  document: string;
}

interface WorktreeCommandsColumns {
  ordinal: Generated<number>;
  id: string;
  stage_id: string;
  state: string;
  /** A `ProcessIdentity`; null until it was spawned. */
  process: string | null;
  /** A `WorktreeCommand`, whole. */
  document: string;
}

interface PortRangesColumns {
  stage_id: string;
  place: number;
  base: number;
}

export interface Schema extends PipelineSchema, MachineSchema, RulesSchema, AnnouncementSchema, SharedSchema {
  agreed: AgreedColumns;
  projects: ProjectsColumns;
  stages: StagesColumns;
  merge_intents: MergeIntentsColumns;
  sessions: SessionsColumns;
  launches: LaunchesColumns;
  outbox: OutboxColumns;
  requests: RequestsColumns;
  transcript: TranscriptColumns;
  events: EventsColumns;
  drafts: DraftsColumns;
  draft_files: DraftFilesColumns;
  attachments: AttachmentsColumns;
  capabilities: CapabilitiesColumns;
  logins: LoginsColumns;
  people: PeopleColumns;
  later: LaterColumns;
  comments: CommentsColumns;
  viewed: ViewedColumns;
  turn_marks: TurnMarksColumns;
  worktree_commands: WorktreeCommandsColumns;
  port_ranges: PortRangesColumns;
}

/** The columns of the tables about what people are told. */
export interface AnnouncementSchema {
  announcements: {
    ordinal: Generated<number>;
    key: string;
    stage_id: string;
    settled_at: string | null;
    /** An `AnnouncementRecord`, whole. */
    document: string;
  };
  deliveries: {
    id: Generated<number>;
    announcement_key: string;
    channel: string;
    target: string;
    /** A `DeliveryPhase`. */
    phase: string;
    state: 'queued' | 'sent' | 'dropped';
    attempts: Generated<number>;
    due_at: string;
    tried_at: string | null;
    error: string | null;
    receipt: string | null;
  };
  webhooks: {
    ordinal: Generated<number>;
    id: string;
    /** A `WebhookRecord`, whole, with its secrets. */
    document: string;
  };
  push_keys: { id: number; public_key: string; private_key: string };
  push_devices: {
    ordinal: Generated<number>;
    id: string;
    endpoint: string;
    /** A `PushDeviceRecord`, whole. */
    document: string;
  };
}

/** Adds calls to the outside, and what became of each. */
export const webhookStatements = [
  `create table webhooks (ordinal integer primary key autoincrement, id text not null unique, document text not null)`,
  `alter table deliveries add column tried_at text`,
  `alter table deliveries add column receipt text`,
  `create index deliveries_to on deliveries(channel, target)`,
];

interface ChecksColumns {
  ordinal: Generated<number>;
  id: string;
  stage_id: string;
  state: string;
  /** A `CheckRecord`, whole. */
  document: string;
}

interface PhaseRunsColumns {
  ordinal: Generated<number>;
  stage_id: string;
  /** A `PhaseRun`, whole. */
  document: string;
}

interface SideRunsColumns {
  ordinal: Generated<number>;
  id: string;
  stage_id: string;
  state: string;
  /** Its `ProcessIdentity`, as JSON; null if it has none, or none is known. */
  process: string | null;
  /** A `SideRun`, whole. */
  document: string;
}

/** The tables about the phases of stages. */
export interface PipelineSchema {
  checks: ChecksColumns;
  phase_runs: PhaseRunsColumns;
  side_runs: SideRunsColumns;
}

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

/** A connection, or a transaction on one. */
export type Database = Kysely<Schema>;
