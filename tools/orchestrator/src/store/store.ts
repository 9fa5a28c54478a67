import type { BoardEvent, BoardParts, LaunchId, NewEvent, StageId } from '@callboard/contract';
import type { AnnouncementsTable, DeliveriesTable, PushTable, WebhooksTable } from './ports/announcement-tables.ts';
import type { BudgetsTable, SpendingTable } from './ports/budget-tables.ts';
import type { ChecksTable, PhaseRunsTable, SideRunsTable } from './ports/check-tables.ts';
import type { PausesTable } from './ports/holds-table.ts';
import type { LimitsTable } from './ports/limits-table.ts';
import type { ClockTable, EventsTable, LoginsTable } from './ports/log-tables.ts';
import type {
  MachineCommandsTable,
  MachinesTable,
  OrphanedWorktreesTable,
  ProjectPlacesTable,
} from './ports/machine-tables.ts';
import type { NumbersTable } from './ports/numbers-table.ts';
import type { PeopleTable } from './ports/people-table.ts';
import type { AgreedTable, CapabilitiesTable, ProjectsTable } from './ports/project-tables.ts';
import type { RequestsTable } from './ports/requests-table.ts';
import type { CommentsTable, TurnMarksTable, ViewedTable } from './ports/review-tables.ts';
import type { RulesTable } from './ports/rules-table.ts';
import type { LaunchesTable, OutboxTable, SessionsTable, TranscriptTable } from './ports/session-tables.ts';
import type {
  AttachmentsTable,
  DraftFilesTable,
  DraftsTable,
  MergeIntentsTable,
  StagesTable,
} from './ports/stage-tables.ts';
import type { PortRangesTable, WorktreeCommandsTable } from './ports/worktree-tables.ts';
import type { OutboxRow } from './records.ts';
import type { StorageError } from './storage-failure.ts';

/** The store's port, which the services use. The code below `sql` and `sqlite` implements it. */

/** All stored data, by subject. */
export interface Tables {
  readonly agreed: AgreedTable;
  readonly projects: ProjectsTable;
  readonly stages: StagesTable;
  readonly mergeIntents: MergeIntentsTable;
  readonly checks: ChecksTable;
  readonly phaseRuns: PhaseRunsTable;
  readonly sideRuns: SideRunsTable;
  readonly sessions: SessionsTable;
  readonly launches: LaunchesTable;
  readonly outbox: OutboxTable;
  readonly requests: RequestsTable;
  readonly transcript: TranscriptTable;
  readonly events: EventsTable;
  readonly rules: RulesTable;
  readonly numbers: NumbersTable;
  readonly drafts: DraftsTable;
  readonly draftFiles: DraftFilesTable;
  readonly attachments: AttachmentsTable;
  readonly capabilities: CapabilitiesTable;
  readonly logins: LoginsTable;
  readonly limits: LimitsTable;
  readonly holds: PausesTable;
  readonly people: PeopleTable;
  readonly worktreeCommands: WorktreeCommandsTable;
  readonly portRanges: PortRangesTable;
  readonly comments: CommentsTable;
  readonly viewed: ViewedTable;
  readonly spending: SpendingTable;
  readonly budgets: BudgetsTable;
  readonly turnMarks: TurnMarksTable;
  readonly announcements: AnnouncementsTable;
  readonly deliveries: DeliveriesTable;
  readonly push: PushTable;
  readonly webhooks: WebhooksTable;
  readonly machines: MachinesTable;
  readonly projectLocations: ProjectPlacesTable;
  readonly machineCommands: MachineCommandsTable;
  readonly orphanedWorktrees: OrphanedWorktreesTable;
  readonly clock: ClockTable;
}

/** One transaction. Its writes and the events about them are committed together or not at all. */
export interface Tx extends Tables {
  /** The instant of the transaction, the same for all its writes. */
  readonly now: string;
  /** Why nothing new may be given to Claude now; null while the disk has room. Each call checks again. */
  diskPauseReason(): string | null;
  /** A new id for a row, from `Edges`. */
  newId(): string;
  /** A new id for a message or request to the CLI, from `Edges`. */
  newWireId(): string;
  /**
   * Adds an event to the log and publishes it after the commit. If several describe the whole of one session or one
   * decision, only the newest is kept.
   */
  emit(event: NewEvent): Promise<void>;
  /** Syncs the commit to disk before anyone is told about it, whatever its options say. For effects that must not happen twice. */
  syncFirst(): void;
  /** Runs after the commit, in order, and never after a rollback. For hints to others, not for state. */
  afterCommit(hint: () => void): void;
}

/**
 * When a commit reaches the disk. `now`: before it returns, with all commits before it, so that it survives a power
 * cut. `later`: with the next one of these, or the next sync of the log. A process that ends loses neither.
 */
export type CommitSync = 'now' | 'later';

/** How a transaction is committed. */
export interface CommitOptions {
  /**
   * `now` (the default) is for input from people and for facts that must not be lost once someone was told: on disk
   * before anyone is told. `later` is for output of the CLI, which its spool holds as well, and for bookkeeping: on disk
   * within about a second, or with the next synced commit.
   */
  sync?: CommitSync;
  /**
   * Allows one transaction to commit this work with other work that arrives at the same time, synced `later`, and ahead
   * of transactions that were requested earlier. If one piece of work fails, each runs again alone, so `work` must act
   * through `tx` only.
   */
  batch?: true;
}

/** Durable state. The store is the truth; everything in memory is a hint or a copy. */
export interface Store {
  /**
   * Runs `work` in one transaction. Transactions run one after another, in the order of the calls. Listeners get the
   * events after the commit and before the next transaction starts, so in the order of their `seq`. Must not be called
   * from within `work`. A process that ends loses no commit, whatever `options` say.
   * @throws OperationalError `storage_failed` if the store itself fails (a full disk, say), and then nothing was stored;
   *   `no_confirmation` if the store is closed before it is known whether it was stored; whatever `work` throws
   */
  transact<T>(work: (tx: Tx) => Promise<T>, options?: CommitOptions): Promise<T>;
  /**
   * Resolves once everything that was committed before the call is on disk. Wait for it before an outside effect that
   * cannot be undone.
   * @param first files to sync before that; missing ones are skipped
   * @throws OperationalError `storage_failed` if it does not reach the disk
   */
  sync(first?: readonly string[]): Promise<void>;
  /** Calls the listener after each commit that was not synced. Returns a function that unsubscribes. */
  onUnsynced(listener: () => void): () => void;
  /** Reads committed data. */
  readonly read: Tables;
  /** Everything the board shows, true at its `seq`. */
  board(): Promise<BoardParts>;
  /** The part of the board behind one stage's card: that stage, if it exists, and the stages it depends on. */
  boardOf(stageId: StageId): Promise<BoardParts>;
  /**
   * Passes on the rows that a transaction has given to the launch, in order, right after the commit and before any other
   * listener, so that the line leaves first. One taker for each launch. Returns a function that unsubscribes.
   */
  onGiven(launchId: LaunchId, take: (rows: readonly OutboxRow[]) => void): () => void;
  /** Calls the listener with every event after its commit. Returns a function that unsubscribes. */
  onEvent(listener: (event: BoardEvent) => void): () => void;
  /**
   * Calls the listener when another process has committed to this store: at once, if the news arrives, else within a second or two.
   * A hint: it may come late, twice or for nothing. Never with a store that has one user.
   */
  onForeignCommit(listener: () => void): () => void;
  /**
   * Calls the listener when the event log has begun anew because a shared database was started again: events may be missing that
   * nobody here has heard, so whoever follows them reads anew. Returns a function that unsubscribes.
   */
  onEpoch(listener: () => void): () => void;
  /** Tests whether the store can write, without changing anything. @throws OperationalError `storage_failed` */
  probe(): Promise<void>;
  /** Calls the listener after each transaction with the reason why the store cannot write; null if it can. */
  onWrite(listener: (storageError: StorageError | null) => void): () => void;
  /**
   * Waits for running transactions, then closes; if a shared database hangs, for a few seconds alone, after which they fail. Reads fail
   * from then on, those of a shared store with `orchestrator_unreachable`.
   */
  close(): Promise<void>;
}
