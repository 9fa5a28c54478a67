import {
  type BoardEvent,
  type BoardParts,
  type LaunchId,
  type NewEvent,
  SANDBOX_UNTRIED,
  type Stage,
  type StageId,
} from '@callboard/contract';
import type { Database } from './database.ts';
import type { KnownSessions } from './known-sessions.ts';
import type { CommitSync } from './node-sqlite.ts';
import { type OutboxRow, type SessionRecord, summaryOf } from './records.ts';
import type { StorageTrouble } from './storage-failure.ts';
import { agreedTable } from './tables/agreed.ts';
import { capabilitiesTable } from './tables/capabilities.ts';
import { clockTable } from './tables/clock.ts';
import { draftFilesTable } from './tables/draft-files.ts';
import { draftsTable } from './tables/drafts.ts';
import { eventsTable } from './tables/events.ts';
import { launchesTable } from './tables/launches.ts';
import { loginsTable } from './tables/logins.ts';
import { type GivenRows, outboxTable } from './tables/outbox.ts';
import { projectsTable } from './tables/projects.ts';
import { requestsTable } from './tables/requests.ts';
import { rulesTable } from './tables/rules.ts';
import { sessionsTable } from './tables/sessions.ts';
import { stagesTable } from './tables/stages.ts';
import { transcriptTable } from './tables/transcript.ts';

/** The tables, as one reads them. @param given collects the rows that are given to launches */
export function tables(db: Database, known: KnownSessions, given?: GivenRows) {
  return {
    agreed: agreedTable(db),
    projects: projectsTable(db),
    stages: stagesTable(db, known),
    sessions: sessionsTable(db, known),
    launches: launchesTable(db),
    outbox: outboxTable(db, given),
    requests: requestsTable(db),
    transcript: transcriptTable(db),
    events: eventsTable(db),
    rules: rulesTable(db),
    drafts: draftsTable(db),
    draftFiles: draftFilesTable(db),
    capabilities: capabilitiesTable(db),
    logins: loginsTable(db),
    clock: clockTable(db),
  };
}
export type Tables = ReturnType<typeof tables>;

/** One transaction. What it writes and the events that tell of it are committed together or not at all. */
export interface Tx extends Tables {
  /** The instant of the transaction, the same for all it writes. */
  readonly now: string;
  /** Why nothing new may be given to Claude now, in words; null while there is room on the disk. Asked anew at each call. */
  diskPauseReason(): string | null;
  /** A new id, for a row. */
  newId(): string;
  /** A new id, for what goes to the CLI. */
  newWireId(): string;
  /**
   * Adds an event to the log; it is published after the commit. Of several that tell the whole of one session or one
   * decision, only the newest is.
   */
  emit(event: NewEvent): Promise<void>;
  /** Whatever the commit was to wait for: it is on disk before anybody hears of it. For what must not be made a second time. */
  syncFirst(): void;
  /** Runs after the commit, in order, and never after a rollback. For hints to others, not for state. */
  afterCommit(hint: () => void): void;
}

/** How a transaction is committed. */
export interface CommitOptions {
  /**
   * `now` (unless told otherwise) for what a person said and for what must not be forgotten once it is told: on disk
   * before anybody hears of it. `later` for what the CLI said, which its spool holds as well, and for marks: on disk
   * within about a second, or with the next commit that is synced.
   */
  sync?: CommitSync;
  /**
   * It may be committed in one transaction with others that come at the same time, synced `later`, and before transactions that were asked for
   * earlier. When one of them fails, each is done anew, alone: so it must do nothing but through `tx`.
   */
  together?: true;
}

/** Durable state. The store is the truth; everything in memory is a hint or a copy. */
export interface Store {
  /**
   * Runs `work` in one transaction. Transactions run one after another, in the order of the calls; events are
   * published to listeners after the commit and before the next transaction starts, so in the order of their `seq`.
   * Must not be called from within `work`. No commit is lost by the end of a process, whatever `options` say.
   * @throws OperationalError `storage_failed` when the store itself fails (a full disk, say); what `work` throws
   */
  transact<T>(work: (tx: Tx) => Promise<T>, options?: CommitOptions): Promise<T>;
  /**
   * Resolves once all that was committed before the call is on disk; at once where it is. To be waited for before an
   * effect outside that cannot be taken back.
   * @param first files to sync before that, as far as they are there
   * @throws OperationalError `storage_failed` where it does not reach the disk
   */
  sync(first?: readonly string[]): Promise<void>;
  /** Hears after each commit without a sync of its own. Returns how to stop hearing. */
  onUnsynced(listener: () => void): () => void;
  /** Reads what is committed. */
  readonly read: Tables;
  /** All that the board shows, true at its `seq`. */
  board(): Promise<BoardParts>;
  /** What of it a stage's own card follows from: that stage (if there is one), and those that it depends on. */
  boardOf(stageId: StageId): Promise<BoardParts>;
  /**
   * Gets the rows that a transaction has given to the launch, in their order: right after the commit and before
   * anybody hears of it, so that a line is on its way first. One taker for each launch. Returns how to stop taking.
   */
  onGiven(launchId: LaunchId, take: (rows: readonly OutboxRow[]) => void): () => void;
  /** Hears every event after its commit. Returns how to stop hearing. */
  onEvent(listener: (event: BoardEvent) => void): () => void;
  /** Writes, and changes nothing: to find out whether the store can. @throws OperationalError `storage_failed` */
  probe(): Promise<void>;
  /** Hears after each transaction why the store cannot write; null when it can. */
  onWrite(listener: (trouble: StorageTrouble | null) => void): () => void;
  /** Waits for running transactions, then closes. */
  close(): Promise<void>;
}

/** The board's parts, read in one transaction. */
export async function readBoard(all: Tables): Promise<BoardParts> {
  const sessions = new Map((await all.sessions.list()).map((record) => [record.stageId, record]));
  return {
    seq: await all.events.lastSeq(),
    projects: await all.projects.list(),
    stages: (await all.stages.list()).map((stage) => withSession(stage, sessions.get(stage.id) ?? null)),
    pending: await all.requests.listOpen(),
    unsettled: await all.requests.listUnsettled(),
    ...NO_NOTICES,
  };
}

/** As `Store.boardOf`, read in one transaction. */
export async function readBoardOf(all: Tables, stageId: StageId): Promise<BoardParts> {
  const stage = await all.stages.find(stageId);
  const others = await Promise.all((stage?.dependsOn ?? []).map((id) => all.stages.find(id)));
  const session = await all.sessions.find(stageId);
  return {
    seq: await all.events.lastSeq(),
    projects: [],
    stages: [
      ...(stage === null ? [] : [withSession(stage, session)]),
      ...others.flatMap((other) => (other === null ? [] : [withSession(other, null)])),
    ],
    pending: await all.requests.listOpenOf(stageId),
    unsettled: await all.requests.listUnsettledOf(stageId),
    ...NO_NOTICES,
  };
}

const NO_NOTICES = { warnings: [], paused: null, sandbox: SANDBOX_UNTRIED };

const withSession = (stage: Stage, record: SessionRecord | null): BoardParts['stages'][number] => ({
  ...stage,
  session: record === null ? null : summaryOf(record),
});
