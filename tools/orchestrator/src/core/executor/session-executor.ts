import type { StageId, TextDelta } from '@callboard/contract';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { AppError, OperationalError } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { LaunchRecord, OutboxRow } from '../../store/records.ts';
import { type CommitOptions, retryUntilStored, type Store } from '../../store/store.ts';
import type { Channel } from '../claude/channel.ts';
import { type AgentProcess, launchFiles } from '../claude/claude-process.ts';
import { changeSession } from '../session/change-session.ts';
import { takeBackUnwritten } from '../session/end-launch.ts';
import { addNotice } from '../session/session-change.ts';
import type { HookInputDeps, TranscriptCheckDeps } from './follow-ups.ts';
import type { LowPriorityWork } from './low-priority-work.ts';
import { createOutboxWriter, type OutboxWriter } from './outbox-writer.ts';
import {
  createOutputHandler,
  createProtocolPeer,
  type FindHosts,
  type OutputHints,
  type ProtocolPeer,
  type ReadServer,
} from './output-handler.ts';

export interface ExecutorDeps extends OutputHints {
  store: Store;
  platform: Platform;
  log: Logger;
  lowPriorityWork: Pick<LowPriorityWork, 'add' | 'recordActivity'>;
  /** As `OutboxWriterDeps.mayWrite`. */
  mayWrite?: (() => boolean) | undefined;
  /** As `SnapshotBeforeMessage`. */
  snapshotBefore: (
    row: OutboxRow,
    until: { placed: Promise<void> | undefined; signal: AbortSignal },
  ) => Promise<void> | undefined;
  /** Returns what stands in the place of the worktree, if a message would begin a turn there; null if the worktree does. */
  misplacement: (stageId: StageId) => Promise<string | null> | undefined;
  /** The process must not get its messages, because its worktree is not in its place: they are back in the queue. */
  onMisplaced: (stageId: StageId, text: string) => void;
  /** The session was put under alarm. */
  onAlarm: (stageId: StageId) => void;
  /** The output of a living process can no longer be read; its transcript says why. */
  onUnreadable: (stageId: StageId) => void;
}

/** Drives one `claude` process: reads its output into the store, and writes its outbox. */
export interface SessionExecutor {
  readonly launch: LaunchRecord;
  readonly process: AgentProcess;
  /**
   * Puts a control request into the outbox and waits for the CLI's reply.
   * @param reason for a request that ends a turn or the process: why, and who wanted it, in words
   * @throws as `ProtocolPeer.reply`
   */
  request(request: ControlFields, signal: AbortSignal, reason?: string): Promise<Record<string, unknown>>;
  /** Waits for the reply to a control request that is in the outbox already. */
  reply(requestId: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** Writes what could not be written until now: this machine may write again, or the store works again. */
  checkOutbox(): void;
  /** Returns the text that it is writing, each block from its beginning. */
  liveText(): TextDelta[];
  /** Resolves when everything that was written to it is marked so in the store. @throws OperationalError `storage_failed` */
  marked(): Promise<void>;
  /**
   * When the process last printed something unasked, or was attached: by the time of day, and how long ago by the monotonic
   * clock; and whether its turn has ended since it last did something.
   */
  lastHeard(): { at: Date; silentMs: number; isTurnOver: boolean };
  /** Calls the listener whenever the process prints something unasked. Returns how to stop listening. */
  onHeard(listener: () => void): () => void;
  /** The file that the process prints to, and how far its content is in the store. */
  spool(): { path: string; readTo: number };
  /** The process is gone: reads the rest of its output. Resolves when that is stored. */
  finish(): Promise<void>;
  /** Detaches from the process, which lives on. */
  detach(): Promise<void>;
}

interface ControlFields {
  subtype: string;
  [field: string]: unknown;
}

/** Where and how the process works. */
export interface ExecutorLocation {
  worktree: string | null;
  mayHooksAllow: boolean;
  /** Whether the machine was restarted since the process ran: its last output may never have reached the disk. */
  isOfEarlierBoot: boolean;
  /** Reads Claude Code's own record of a conversation. */
  readConversation: TranscriptCheckDeps['readConversation'];
  readHooks: HookInputDeps['readHooks'];
  /** Reads what an MCP server said when its start failed. */
  readServer: ReadServer;
  findHosts: FindHosts;
}

/** What an executor drives. */
export interface ExecutorTarget {
  launch: LaunchRecord;
  process: AgentProcess;
  channel: Channel;
  place: ExecutorLocation;
}

/** How long a line that is being written may take when the executor ends. */
const LAST_LINE_MS = 1_000;

export function createSessionExecutor(target: ExecutorTarget, executorDeps: ExecutorDeps): SessionExecutor {
  const { launch, process, channel, place } = target;
  const { stageId, id: launchId } = launch;
  const log = executorDeps.log.child({ stageId, launchId });
  const deps = { ...executorDeps, log };
  const { store, platform } = deps;
  const detaching = new AbortController();
  const storing = { store, log, signal: detaching.signal };
  const writer = createOutboxWriter({
    store,
    platform,
    channel,
    launchId,
    mayWrite: deps.mayWrite,
    beforeMessage: (row) => {
      const placed = deps.misplacement(stageId)?.then(requireConversation);
      const saved = deps.snapshotBefore(row, { placed, signal: detaching.signal });
      // If Callboard stops meanwhile, it stays for the next start.
      return (saved ?? placed)?.then(() => detaching.signal.throwIfAborted());
    },
    onGone: () => log.info('the process no longer reads'),
    onError: (error) =>
      !detaching.signal.aborted && !isMisplaced(error) && log.error({ err: error }, 'writing the outbox failed'),
  });
  const send = (
    fields: ControlFields,
    signal: AbortSignal,
    row: { reason?: string | undefined },
    sync?: CommitOptions,
  ) => sendRequest({ store, platform, launch, writer, peer }, { fields, ...row }, signal, sync);
  const output = createOutputHandler({
    launch,
    storing,
    platform,
    writer,
    hints: deps,
    context: eventContext(target, deps),
    ...place,
    lowPriorityWork: deps.lowPriorityWork,
    request: (fields, signal) => send(fields, signal, {}, { sync: 'later' }), // losing a question does no harm
  });
  const peer = createProtocolPeer(channel, output);
  const unlisten = store.onGiven(launchId, writer.take);
  const read = peer.closed.catch(reportUnreadable);
  read.catch((error: unknown) => log.error({ err: error }, 'storing that the spool is unreadable failed'));
  writer.schedule();

  /** Claude Code runs commands by the path of its folder, whatever stands there. @throws OperationalError `worktree_replaced` */
  async function requireConversation(text: string | null): Promise<void> {
    if (text === null) return;
    const why = { message: text, code: 'worktree-replaced' } as const;
    await retryUntilStored(storing, (tx) => takeBackUnwritten(tx, launch, why));
    deps.onMisplaced(stageId, text);
    throw new OperationalError('worktree_replaced', text);
  }

  async function reportUnreadable(error: unknown): Promise<void> {
    if (detaching.signal.aborted) return;
    log.error({ err: error }, 'reading the spool failed');
    const notice = { level: 'error', code: 'output-lost', text: unreadableText(error, place.isOfEarlierBoot) } as const;
    await retryUntilStored(storing, (tx) => changeSession(tx, stageId, (change) => addNotice(change, tx.now, notice)));
    if (!output.isFinishing()) deps.onUnreadable(stageId);
  }

  async function release(): Promise<void> {
    unlisten();
    output.stopAsking();
    detaching.abort();
    // A line that is being written gets this long. If a stopped process does not take it, the line is left out whole or has a mark.
    await settlesWithin(writer.stop(), LAST_LINE_MS);
    await writer.mark().catch((error: unknown) => log.info({ err: error }, 'marking written rows failed'));
    await output.stopReclaiming();
    channel.close();
  }

  return {
    launch,
    process,
    reply: peer.reply,
    liveText: output.liveText,
    marked: writer.mark,
    checkOutbox: writer.schedule,
    request: (fields, signal, reason) => send(fields, signal, { reason }),
    lastHeard: output.lastHeard,
    onHeard: output.onHeard,
    spool: () => ({ path: launchFiles(launch.folder).spool, readTo: output.storedTo() }),
    async finish() {
      output.finish();
      channel.finish();
      await read.catch(() => undefined);
      await settlesWithin(writer.stop(), LAST_LINE_MS);
      await retryUntilStored(storing, writer.markIn); // settling the end relies on the marks
      await output.showHookInputs();
      await release();
    },
    async detach() {
      await release();
      await peer.closed.catch(() => undefined);
    },
  };
}

const isMisplaced = (error: unknown): boolean => error instanceof AppError && error.code === 'worktree_replaced';

function eventContext({ launch, place }: ExecutorTarget, { onAlarm }: ExecutorDeps) {
  const { stageId, id: launchId, settings } = launch;
  const { worktree, mayHooksAllow, isOfEarlierBoot } = place;
  const { isSandboxed: isOn, autoAllows, sessionMessages: mayPeersWrite } = settings;
  return {
    launchId,
    worktree,
    mayHooksAllow,
    mayPeersWrite,
    sandbox: { isOn, autoAllows },
    // A launch that has an end reason but has not ended comes from a restored backup. After a reboot the store may have
    // lost its last second in a power cut.
    knowsAll: launch.endReason === null && !isOfEarlierBoot,
    onAlarm: () => onAlarm(stageId),
  };
}

interface RequestDeps {
  store: Store;
  platform: Platform;
  launch: LaunchRecord;
  writer: OutboxWriter;
  peer: ProtocolPeer;
}

async function sendRequest(
  { store, platform, launch, writer, peer }: RequestDeps,
  { fields, reason }: { fields: ControlFields; reason?: string | undefined },
  signal: AbortSignal,
  options?: CommitOptions,
): Promise<Record<string, unknown>> {
  const { stageId, id: launchId } = launch;
  const wireId = platform.newWireId();
  const reply = peer.reply(wireId, signal);
  reply.catch(() => undefined); // awaited below, unless storing the row fails first
  await store.transact(
    async (tx) => {
      const row = { id: tx.newId(), stageId, launchId, wireId, actor: null, createdAt: tx.now };
      // Marked before it is written, so that it is never written twice: already here if it is written right after the commit.
      const state = writer.takesAtOnce() ? 'written' : 'accepted';
      await tx.outbox.insert({ ...row, state, body: { kind: 'control', request: fields, reason } });
    },
    { ...options, stage: stageId },
  );
  return reply;
}

/** Returns why the output of a process cannot be read, for a notice in the transcript. */
function unreadableText(error: unknown, isOfEarlierBoot: boolean): string {
  const isTruncated = error instanceof OperationalError && error.code === 'spool_truncated';
  const isGone = systemCode(error) === 'ENOENT';
  if (isOfEarlierBoot && (isTruncated || isGone)) return LOST_IN_A_POWER_CUT;
  return `The output of Claude Code from here on cannot be read and is missing: ${why()}`;

  function why(): string {
    if (isTruncated) return `something truncated its output file (${messageOf(error)}).`;
    if (isGone) return 'its output file was deleted.';
    return `${messageOf(error)}.`;
  }
}

const LOST_IN_A_POWER_CUT =
  'The machine lost power or was reset before Claude Code’s last output was on disk: the last second may be missing here. Look at the changes in the worktree, then send a message to continue.';
