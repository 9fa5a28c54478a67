import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type {
  BoardEvent,
  BoardParts,
  EventType,
  LaunchId,
  NewEvent,
  Project,
  ProjectId,
  SessionSummary,
  Stage,
  StageId,
} from '@callboard/contract';
import { createBackoff } from '@callboard/runtime/waits';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../platform/runtime.ts';
import type {
  AnnouncementsTable,
  ClockTable,
  DeliveriesTable,
  EventsTable,
  LoginsTable,
  PushTable,
  WebhooksTable,
} from './ports/event-port.ts';
import type {
  MachineCommandsTable,
  MachinesTable,
  OrphanedWorktreesTable,
  ProjectPlacesTable,
} from './ports/machine-port.ts';
import type {
  LaunchesTable,
  OutboxTable,
  PeopleTable,
  RequestsTable,
  RulesTable,
  SessionsTable,
  TranscriptTable,
} from './ports/session-port.ts';
import type {
  AgreedTable,
  AttachmentsTable,
  CapabilitiesTable,
  ChecksTable,
  CommentsTable,
  DraftFilesTable,
  DraftsTable,
  MergeIntentsTable,
  PhaseRunsTable,
  PortRangesTable,
  ProjectsTable,
  SideRunsTable,
  StagesTable,
  TurnMarksTable,
  ViewedTable,
  WorktreeCommandsTable,
} from './ports/stage-port.ts';
import type { BudgetsTable, LimitsTable, NumbersTable, PausesTable, SpendingTable } from './ports/usage-port.ts';
import type { OutboxRow } from './records.ts';
import { isStorageFailure, type StorageError } from './storage-error.ts';

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
  /** A new id for a row, from `Platform`. */
  newId(): string;
  /** A new id for a message or request to the CLI, from `Platform`. */
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
  /**
   * The stage that the work is about. It decides by rows of this stage, and by settings that all stages share. On a shared store it then
   * runs beside transactions of other machines, if this machine has the stage. Work that turns out to write anything else is rolled back
   * and runs again while nobody else writes, so it must act through `tx` only.
   */
  stage?: StageId;
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

type EventOf<T extends EventType> = Extract<BoardEvent, { type: T }>;

/** Calls the listener with the events of these types. Returns a function that unsubscribes. */
export function onEvents<T extends EventType>(
  { onEvent }: Pick<Store, 'onEvent'>,
  types: readonly T[],
  listener: (event: EventOf<T>) => void,
): () => void {
  const wanted = new Set<string>(types);
  const isWanted = (event: BoardEvent): event is EventOf<T> => wanted.has(event.type);
  return onEvent((event) => {
    if (isWanted(event)) listener(event);
  });
}

/**
 * Calls the listener with a session at the first event of it, and whenever one of these fields differs from its last event.
 * Returns a function that unsubscribes.
 */
export function onSessionChange(
  store: Pick<Store, 'onEvent'>,
  fields: readonly (keyof SessionSummary)[],
  listener: (session: SessionSummary) => void,
): () => void {
  const last = new Map<StageId, SessionSummary>();
  return onEvents(store, ['session-updated', 'stage-removed'], ({ type, data }) => {
    if (type === 'stage-removed') return void last.delete(data.stageId);
    const before = last.get(data.stageId);
    last.set(data.stageId, data);
    if (before === undefined || fields.some((field) => !isDeepStrictEqual(before[field], data[field]))) listener(data);
  });
}

export const unknownStage = (id: StageId): Rejection => new Rejection('unknown_stage', `There is no stage ${id}.`);

const unknownProject = (id: ProjectId): Rejection =>
  new Rejection('unknown_project', `There is no project ${id}. Register its repository first.`);

/** Returns the stage. @throws Rejection `unknown_stage` */
export async function requireStage({ stages }: Pick<Tables, 'stages'>, id: StageId): Promise<Stage> {
  const stage = await stages.find(id);
  if (stage === null) throw unknownStage(id);
  return stage;
}

/** Returns the project. @throws Rejection `unknown_project` */
export async function requireProject({ projects }: Pick<Tables, 'projects'>, id: ProjectId): Promise<Project> {
  const project = await projects.find(id);
  if (project === null) throw unknownProject(id);
  return project;
}

export interface RetryDeps {
  store: Store;
  log: Logger;
  signal: AbortSignal;
}

const BACKOFF = { firstMs: 250, maxMs: 10_000 };

/**
 * Runs the transaction until the store accepts it: for facts that only need to be recorded. Commits without a sync of its
 * own unless `options` say otherwise, because output is in the spool too.
 * @throws any error that is not a failure of the store, and the signal's reason
 */
export const retryUntilStored = <T>(
  deps: RetryDeps,
  work: (tx: Tx) => Promise<T>,
  options: CommitOptions = { sync: 'later' },
): Promise<T> => retryWhileStoreFails(deps, () => deps.store.transact(work, options));

/**
 * Repeats an attempt until the store does not fail it: for what must be read whenever the store answers again.
 * @throws as `retryUntilStored`
 */
export async function retryWhileStoreFails<T>(
  { log, signal }: Omit<RetryDeps, 'store'>,
  attempt: () => Promise<T>,
): Promise<T> {
  const backoff = createBackoff(BACKOFF);
  for (;;) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      log.info({ err: error }, 'the store failed; retrying');
      await sleep(backoff.next(), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
