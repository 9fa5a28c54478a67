import type { ColumnType, Generated } from 'kysely';

/** Tables as the database knows them. Instants are ISO 8601 UTC texts, flags are 0 or 1, documents are JSON texts. */

type Flag = ColumnType<number, number, number>;

interface ProjectsTable {
  id: string;
  name: string;
  path: string;
  /** A `ProjectSettings`. */
  settings: string;
  created_at: string;
  /** A `GitAgreement`; null: nobody has looked at its git settings yet. */
  git: string | null;
  /** A `ProjectTrust`; null before anybody looked. */
  trust: string | null;
}

interface AgreedTable {
  /** `user`, or `project:<id>`. */
  scope: string;
  /** An `AgreedSettings`, whole. */
  document: string;
}

interface StagesTable {
  ordinal: Generated<number>;
  id: string;
  project_id: string;
  completed_at: string | null;
  /** A `Stage` of the contract, whole. */
  document: string;
}

interface SessionsTable {
  stage_id: string;
  state: string;
  /** A `SessionRecord`, whole. */
  document: string;
}

interface LaunchesTable {
  id: string;
  stage_id: string;
  /** `starting` (committed before the spawn), `live`, `ended`. */
  state: string;
  folder: string;
  /** A `ProcessIdentity`; null until the spawn returned. */
  process: string | null;
  /** Bytes of the spool whose meaning is committed. */
  spool_offset: number;
  created_at: string;
  ended_at: string | null;
  end_reason: string | null;
  /** A `LaunchSettings`; null before it was spawned. */
  settings: string | null;
  /** `ProcessIdentity`s, as JSON; null: none was ever seen. */
  leftovers: string | null;
}

export interface OutboxTable {
  ordinal: Generated<number>;
  id: string;
  stage_id: string;
  /** Null for a user message that waits in the queue. */
  launch_id: string | null;
  kind: string;
  state: string;
  /** What the CLI calls it: a message's uuid, a request's id. */
  wire_id: string;
  /** JSON of the row's content; what it means depends on the kind. */
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

interface RequestsTable {
  ordinal: Generated<number>;
  stage_id: string;
  request_id: string;
  launch_id: string;
  /** `open`, `decided`, `closed`, `unsettled` (decided, and nobody knows whether it arrived). */
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
  /** With the project: of a stage that was deleted since; null while it is there. */
  stage_title: string | null;
  project_id: string | null;
}

interface TranscriptTable {
  stage_id: string;
  index: number;
  document: string;
}

interface EventsTable {
  seq: Generated<number>;
  at: string;
  type: string;
  data: string;
}

interface RulesTable {
  id: string;
  project_id: string;
  /** Null for a rule of the whole project. */
  stage_id: string | null;
  /** A `PermissionRule`, whole. */
  document: string;
}

interface DraftsTable {
  stage_id: string;
  key: string;
  /** A `Draft`, whole. */
  document: string;
}

interface DraftFilesTable {
  /** The sender's, and known in its stage alone. */
  id: string;
  stage_id: string;
  added_at: string;
  /** An `Attachment`, whole. */
  document: string;
}

interface CapabilitiesTable {
  stage_id: string;
  /** When it was said. */
  at: string;
  /** A `Capabilities`. */
  document: string;
}

interface LoginsTable {
  /** SHA-256 in hex: the secret itself is never stored. */
  secret_hash: string;
  kind: string;
  name: string;
  created_at: string;
  expires_at: string | null;
  /** Of a browser's login, as the next three: its public name. */
  login_id: string | null;
  /** A JWK: who holds its private half is the page that logged in. */
  page_key: string | null;
  /** The only origin that the login is good under. */
  origin: string | null;
  browser: string | null;
}

interface BootTable {
  /** Of the machine, when the store was last opened. */
  id: string;
}

/** SQLite's own: the highest number that each table has given. */
interface SequenceTable {
  name: string;
  seq: number;
}

interface CountersTable {
  name: string;
  value: number;
}

export interface Schema {
  agreed: AgreedTable;
  projects: ProjectsTable;
  stages: StagesTable;
  sessions: SessionsTable;
  launches: LaunchesTable;
  outbox: OutboxTable;
  requests: RequestsTable;
  transcript: TranscriptTable;
  events: EventsTable;
  rules: RulesTable;
  drafts: DraftsTable;
  draft_files: DraftFilesTable;
  capabilities: CapabilitiesTable;
  logins: LoginsTable;
  counters: CountersTable;
  boot: BootTable;
  sqlite_sequence: SequenceTable;
}
