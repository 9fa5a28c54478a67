/** What a store of several machines uses of the orchestrator: the port, the SQL that both databases share, and what every part stands on. */
export { createKeyedMutex, createRetryTimer, createYield } from '../lib/async.ts';
export { AppError, OperationalError, Rejection } from '../lib/errors.ts';
export { createDataDir, dataDirLayout, identityOf } from '../platform/data-dir.ts';
export { pathExists } from '../platform/files.ts';
export { endMarked, findMarkedProcesses } from '../platform/process-table.ts';
export { type Logger, nodePlatform, type Platform } from '../platform/runtime.ts';
export type {
  MachineRecord,
  MachineReport,
  OrphanedWorktree,
  ProjectLocation,
  StoredCommand,
} from '../store/ports/machine-port.ts';
export type { OutboxTable } from '../store/ports/session-port.ts';
export type { ProjectsTable } from '../store/ports/stage-port.ts';
export type { LimitsTable } from '../store/ports/usage-port.ts';
export type { CommentRecord, LaunchRecord, OutboxRow, OutboxState } from '../store/records.ts';
export type {
  LeaseTimes,
  SharedIndexOptions,
  SharedStore,
  SharedStoreOptions,
} from '../store/shared-store.ts';
export {
  createRowCaches,
  NOTHING_CACHED,
  type RowCaches,
  rowsOfStages,
} from '../store/sql/cached-rows.ts';
export { statementsFor } from '../store/sql/migration-statements.ts';
export { migrations } from '../store/sql/migrations.ts';
export { runOn, type Wire } from '../store/sql/prepared.ts';
export { type GivenRows, toRow } from '../store/sql/rows.ts';
export type { Database, Schema } from '../store/sql/schema.ts';
export { outboxTable } from '../store/sql/session-tables.ts';
export { StoreTables } from '../store/sql/tables.ts';
export {
  createBatcher,
  createDraft,
  createSubscribers,
  type Draft,
  readBoard,
  readBoardOf,
  type Subscribers,
} from '../store/sql/transactions.ts';
export { openSqliteStore } from '../store/sqlite/sqlite-store.ts';
export {
  type CommitOptions,
  type CommitSync,
  onEvents,
  onSessionChange,
  requireProject,
  requireStage,
  retryUntilStored,
  retryWhileStoreFails,
  type Store,
  type Tables,
  type Tx,
} from '../store/store.ts';
export { noteOwnStore, noteSharedStore, readStoreLocation } from '../store/store-location.ts';
