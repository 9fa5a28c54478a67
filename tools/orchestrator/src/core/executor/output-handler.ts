import { stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LiveNow, StageId, TextDelta } from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import { mark } from '@callboard/runtime/marks';
import { createReconciler, type Reconciler } from '@callboard/runtime/reconciler';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { OperationalError, ProtocolError } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { LaunchRecord } from '../../store/records.ts';
import { type RetryDeps, retryUntilStored, type Store, type Tx } from '../../store/store.ts';
import { type AgentEvent, type Ask, type LastingEvent, textField } from '../agent-event.ts';
import type { Channel } from '../claude/channel.ts';
import { launchFiles, reclaimSpool } from '../claude/claude-process.ts';
import { parseLine } from '../claude/frames.ts';
import { OUTPUT_CUT_OFF, translate } from '../claude/translate.ts';
import { applyEvent, blockId } from '../session/apply-agent-event.ts';
import { changeSession, openChange, saveChange } from '../session/change-session.ts';
import { refuse } from '../session/incoming-requests.ts';
import { alarmOf, raiseAlarm } from '../session/requests.ts';
import { addRaw, type EventContext } from '../session/session-change.ts';
import {
  createHookInputs,
  createTranscriptCheck,
  createUsageTracker,
  type HookInputDeps,
  type TranscriptCheckDeps,
  type UsageTrackerDeps,
} from './follow-ups.ts';
import { createLiveNow, createLiveText } from './live-now.ts';
import type { LowPriorityTask, LowPriorityWork } from './low-priority-work.ts';
import type { OutboxWriter } from './outbox-writer.ts';

/** The events of one line of the spool. */
export interface ReadLine {
  events: AgentEvent[];
  /** The offset behind the line. */
  end: number;
}

export interface PeerHandlers {
  /** Called with lines as soon as they are read, in order, before `onLines` has them: what is shown live does not wait. */
  onRead?(lines: readonly ReadLine[]): void;
  /**
   * Handles lines, in order. The next ones are read once this has resolved, so a full disk or a slow store holds the
   * reader back instead of filling the memory.
   */
  onLines(lines: ReadLine[]): Promise<void>;
}

/** Reads the frames of one process and matches its replies to our requests. Never waits for a person. */
export interface ProtocolPeer {
  /**
   * Resolves with the reply to the control request of that id, whether that was already written or will be.
   * @throws ProtocolError `refused` with the CLI's words, OperationalError `peer_closed` when the channel ends first,
   *   the signal's reason when it aborts first
   */
  reply(requestId: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** Resolves when the channel has ended and every line was handled; rejects when handling failed. All waiters are rejected before. */
  readonly closed: Promise<void>;
}

const gone = () => new OperationalError('peer_closed', 'the process ended before it replied');

export function createProtocolPeer(channel: Channel, { onRead, onLines }: PeerHandlers): ProtocolPeer {
  const waiting = new Map<string, PromiseWithResolvers<Record<string, unknown>>>();
  let open = true;

  async function* read(): AsyncGenerator<ReadLine[]> {
    for await (const batch of channel.lines()) {
      const lines = batch.map(({ text, end }) => ({ events: parseLine(text).flatMap(translate), end }));
      mark('lines parsed');
      onRead?.(lines);
      yield lines;
    }
  }

  async function readLoop(): Promise<void> {
    for await (const lines of coalesceBatches(read())) {
      await onLines(lines);
      // Only after the commit: a waiter may rely on the reply's effects being stored.
      for (const { events } of lines) for (const event of events) if (event.type === 'response') settle(event);
    }
  }

  function settle({ requestId, ok, response }: Extract<AgentEvent, { type: 'response' }>): void {
    const waiter = waiting.get(requestId);
    if (ok) waiter?.resolve(response);
    else
      waiter?.reject(
        new ProtocolError('refused', typeof response.error === 'string' ? response.error : 'no reason given'),
      );
  }

  const closed = readLoop().finally(() => {
    open = false;
    for (const waiter of waiting.values()) waiter.reject(gone());
  });
  closed.catch(() => undefined); // the peer's user awaits it; this covers the time before

  async function reply(requestId: string, signal: AbortSignal): Promise<Record<string, unknown>> {
    signal.throwIfAborted();
    if (!open) throw gone();
    const waiter = Promise.withResolvers<Record<string, unknown>>();
    const onAbort = () => waiter.reject(signal.reason);
    waiting.set(requestId, waiter);
    signal.addEventListener('abort', onAbort);
    try {
      return await waiter.promise;
    } finally {
      waiting.delete(requestId);
      signal.removeEventListener('abort', onAbort);
    }
  }

  return { reply, closed };
}

/**
 * What nobody waits for: the bookkeeping at the beginning of a turn, what Claude does before it asks, what a call returned. Its
 * text has been shown live.
 */
const DEFERRABLE = new Set<AgentEvent['type']>([
  ...(['message-progress', 'conversation', 'turn-started', 'message-echoed'] as const),
  ...(['delta', 'preparing', 'block', 'used', 'todos', 'tool-result'] as const),
]);

/** How long the first of some deferrable lines waits for others. */
const WINDOW_MS = 50;
const MAX_LINES = 100;

/** Returns a function that is asked about all lines, in order, and says whether nobody waits for any of these. */
function createDeferral(): (lines: readonly ReadLine[]) => boolean {
  let isShown = false; // what is written of the next text has been shown live
  return (lines) => {
    let mayWait = true;
    for (const event of lines.flatMap(({ events }) => events)) {
      const isText = event.type === 'block' && event.block.kind === 'text';
      if (!DEFERRABLE.has(event.type) || (isText && !isShown)) mayWait = false;
      if (isText) isShown = false;
      else if (event.type === 'delta') isShown = true;
    }
    return mayWait;
  };
}

/**
 * Yields each batch as it comes, except batches that may wait: these are joined with the next ones, up to one that somebody
 * waits for, or yielded after a moment, so that they share one transaction.
 */
export async function* coalesceBatches(batches: AsyncGenerator<ReadLine[]>): AsyncGenerator<ReadLine[]> {
  const mayWait = createDeferral();
  let ahead: Promise<IteratorResult<ReadLine[]>> | undefined;
  try {
    for (;;) {
      const { done, value } = await (ahead ?? batches.next());
      if (done) return;
      ahead = undefined;
      let lines = value;
      let isDue = !mayWait(lines) || lines.every(({ events }) => events.length === 0);
      const until = performance.now() + WINDOW_MS;
      while (!isDue && lines.length < MAX_LINES) {
        ahead = batches.next();
        if (!(await settlesWithin(ahead, Math.max(0, until - performance.now())))) break;
        const next = await ahead.catch(() => null);
        if (next === null || next.done) break; // the next round handles the end or the failure, once these lines are yielded
        ahead = undefined;
        lines = [...lines, ...next.value];
        isDue = !mayWait(next.value);
      }
      yield lines;
    }
  } finally {
    // Whoever stops reading in the middle leaves the spool open otherwise. Not awaited: a read that is under way ends only with the channel.
    batches.return(undefined).catch(() => undefined);
  }
}

/** Called for events of a process once they are stored. */
export interface OutputHints {
  onTextDelta: (delta: TextDelta) => void;
  /** What Claude itself does may have changed; `read` tells it. */
  onLiveNow: (stageId: StageId, read: () => LiveNow | null) => void;
  /** A call ran, perhaps unasked because of a permission rule. */
  onRuleUsed: (stageId: StageId, toolUseId: string) => void;
  /** A permission rule denied a call, and Claude Code did not say which one. */
  onRuleDenied: (stageId: StageId, toolUseId: string) => void;
  /** A call ran because a hook allowed it. */
  onHookUsed: (stageId: StageId) => void;
  /** A line of a living process was cut off or is not understood, so its content is lost. */
  onCutOff: (stageId: StageId) => void;
  /** A process reports its version, at the beginning of each turn. */
  onVersion: (version: string) => void;
}

export interface OutputHandlerDeps {
  launch: LaunchRecord;
  /** Its signal aborts when the executor is detached. */
  storing: RetryDeps;
  platform: Platform;
  lowPriorityWork: Pick<LowPriorityWork, 'add' | 'recordActivity'>;
  context: Omit<EventContext, 'tx' | 'change'>;
  writer: Pick<OutboxWriter, 'markIn' | 'schedule'>;
  request: UsageTrackerDeps['request'];
  readConversation: TranscriptCheckDeps['readConversation'];
  readHooks: HookInputDeps['readHooks'];
  readServer: ReadServer;
  findHosts: FindHosts;
  hints: OutputHints;
}

/** An offset that only live text has moved is stored when it has moved this far. */
const LAZY_OFFSET_BYTES = 1024 * 1024;

/** How often the usage of a running turn is requested at most. */
const USAGE_EVERY_MS = 10_000;

const PASSING = new Set<AgentEvent['type']>(['delta', 'preparing']);
const isLasting = (event: AgentEvent): event is LastingEvent => !PASSING.has(event.type);
/** Claude did something, so its usage has changed. */
const isWork = ({ type }: AgentEvent) => type === 'block' || type === 'tool-result';

const isCutOff = (event: AgentEvent) =>
  event.type === 'notice' && event.entry.kind === 'notice' && event.entry.code === OUTPUT_CUT_OFF;

/** Handles the output of a process: passes live text on, stores the rest, and then tells whoever depends on it. */
export function createOutputHandler(deps: OutputHandlerDeps) {
  const { launch, storing, platform, context, writer, hints } = deps;
  const { stageId } = launch;
  const live = createLiveText(stageId);
  const liveNow = createLiveNow(() => hints.onLiveNow(stageId, liveNow.read));
  const activity = createActivity(platform);
  const unknownLines = watchUnknownLines(() => hints.onCutOff(stageId));
  const whenQuiet = quietWork(deps);
  const { uptimeMs } = platform;
  const usageDeps = { ...storing, stageId, whenQuiet, uptimeMs, everyMs: USAGE_EVERY_MS, request: deps.request };
  const usage = createUsageTracker(usageDeps);
  const { readConversation } = deps;
  const onForged = () => raiseMismatch(deps);
  const transcriptCheck = createTranscriptCheck({ ...storing, stageId, readConversation, whenQuiet, onForged });
  const hookDeps = { ...storing, stageId, worktree: context.worktree, readHooks: deps.readHooks };
  const [servers, hookInputs] = [createServerText(deps.readServer), createHookInputs(hookDeps)];
  if (launch.spoolOffset > 0) hookInputs.changed(); // what an earlier orchestrator had not shown
  const reclaimer = createSpoolReclaimer(launch, storing);
  let storedOffset = launch.spoolOffset;
  let isFinishing = false;

  function passOnLive(event: AgentEvent): void {
    liveNow.take(event);
    if (event.type !== 'delta') return;
    const { apiMessageId, index, kind, text, parentToolUseId } = event;
    hints.onTextDelta(live.add({ blockId: blockId(apiMessageId, index), kind, text, parentToolUseId }));
  }

  function afterStored(events: readonly LastingEvent[]): void {
    for (const event of events) giveHints(hints, stageId, event);
    if (!isFinishing && events.some(isCutOff)) hints.onCutOff(stageId);
    reclaimer.readTo(storedOffset);
    if (!isFinishing) unknownLines.took(events);
    if (events.some(isWork)) usage.worked();
    if (events.some(({ type }) => type === 'hook-changed-input')) hookInputs.changed();
    if (!events.some(({ type }) => type === 'turn-ended')) return;
    live.clear();
    usage.turnEnded();
    if (!isFinishing && context.knowsAll) transcriptCheck.turnEnded();
  }

  return {
    /** Takes lines as soon as they are read. */
    onRead(lines: readonly ReadLine[]): void {
      activity.take(lines, () => deps.lowPriorityWork.recordActivity(stageId));
      for (const { events } of lines) for (const event of events) passOnLive(event);
    },
    async onLines(lines: ReadLine[]): Promise<void> {
      const end = lines.at(-1)?.end ?? storedOffset;
      if (!lines.some(({ events }) => events.some(isLasting)) && end - storedOffset < LAZY_OFFSET_BYTES) return;
      const lasting = lines.map((line) => ({ end: line.end, events: line.events.filter(isLasting) }));
      const seen = await checkedAt(lasting, deps, servers);
      await ingestLines({ ...storing, context, stageId, markIn: writer.markIn }, seen);
      storedOffset = end;
      writer.schedule();
      afterStored(lasting.flatMap(({ events }) => events));
    },
    liveText: live.blocks,
    lastHeard: activity.lastHeard,
    onHeard: activity.onHeard,
    /** How far the spool is in the store. */
    storedTo: () => storedOffset,
    isFinishing: () => isFinishing,
    /** The process is gone: from here on nothing is asked of it. */
    finish() {
      isFinishing = true;
      liveNow.clear();
    },
    /** Says what hooks changed, as far as that is known now that the process is gone. */
    showHookInputs: hookInputs.finish,
    /** Stops timers that would ask the process for something. */
    stopAsking() {
      usage.stop();
      unknownLines.stop();
    },
    /** Resolves when the spool is no longer being reclaimed. */
    stopReclaiming: reclaimer.stop,
  };
}

/** Adds what has to be looked up before the lines are stored: later nobody could tell. */
async function checkedAt(
  lines: LastingLine[],
  { context, findHosts }: Pick<OutputHandlerDeps, 'context' | 'findHosts'>,
  servers: ReturnType<typeof createServerText>,
): Promise<LastingLine[]> {
  const { worktree, sandbox } = context;
  const seen = asksToWrite(lines) ? await inspectFiles(lines, worktree) : lines;
  const named = sandbox.isOn ? await addHosts(seen, findHosts) : seen;
  return servers.isDue(named) ? servers.add(named) : named;
}

function giveHints(hints: OutputHints, stageId: StageId, event: LastingEvent): void {
  if (event.type === 'turn-started' && event.version) hints.onVersion(event.version);
  if (event.type === 'tool-result' && event.underRule) hints.onRuleUsed(stageId, event.toolUseId);
  if (event.type === 'call-denied' && event.denial.source === 'rule') hints.onRuleDenied(stageId, event.toolUseId);
  if (event.type === 'tool-result' && event.allowedBy === 'hook') hints.onHookUsed(stageId);
}

/** Adds low-priority work that is dropped when the executor is detached. */
function quietWork({ launch, storing: { signal: detached }, lowPriorityWork }: OutputHandlerDeps) {
  return (name: string, work: LowPriorityTask, latestMs?: number): void => {
    const unlessDetached: LowPriorityTask = async (signal) => {
      if (!detached.aborted) await work(AbortSignal.any([signal, detached]));
    };
    lowPriorityWork.add(launch.stageId, name, unlessDetached, latestMs);
  };
}

async function raiseMismatch({ launch: { stageId }, storing, context }: OutputHandlerDeps): Promise<void> {
  const { onAlarm } = context;
  await storing.store.transact((tx) =>
    changeSession(tx, stageId, (change) => raiseAlarm({ tx, change, onAlarm }, alarmOf('transcript-mismatch'))),
  );
}

/** The spool is reclaimed in pieces of at least this size: each costs a process. */
const RECLAIM_BYTES = 4 * 1024 * 1024;

/** Returns the space of what was read from the spool to the disk; one run at a time, however fast the process prints. */
function createSpoolReclaimer(
  { folder, spoolOffset }: LaunchRecord,
  { store, log }: RetryDeps,
): { readTo(offset: number): void; stop: Reconciler['stop'] } {
  let read = spoolOffset;
  let reclaimed = spoolOffset;
  const worker = createReconciler(
    async () => {
      reclaimed = read;
      // A power cut may take the store back to its last sync; the spool must still hold what follows from there.
      await store.sync();
      await reclaimSpool(launchFiles(folder).spool, reclaimed);
    },
    (error) => log.warn({ err: error }, 'reclaiming the spool failed'),
  );
  return {
    readTo(offset) {
      read = offset;
      if (read - reclaimed >= RECLAIM_BYTES) worker.schedule();
    },
    stop: worker.stop,
  };
}

/** Events of a turn, including a turn that the CLI began on its own. */
const ACTIVITY = new Set<AgentEvent['type']>([
  'turn-started',
  'message-echoed',
  'block',
  'delta',
  'tool-result',
  'asked',
  'task-started',
]);

/** Events that a process prints because it was asked, even while idle: the list of tasks follows each `initialize`. */
const REPLIES = new Set<AgentEvent['type']>(['response', 'initialized', 'offered', 'cost-count', 'tasks']);
const isReply = ({ events }: ReadLine) => events.length > 0 && events.every(({ type }) => REPLIES.has(type));

/** Tracks when a process last printed something unasked, and whether its turn is over. */
function createActivity(platform: Pick<Platform, 'now' | 'uptimeMs'>) {
  const unasked = createEmitter();
  let heard = heartbeatNow();
  let isTurnOver = false;

  function heartbeatNow() {
    return { at: platform.now(), uptimeMs: platform.uptimeMs() };
  }

  return {
    take(lines: readonly ReadLine[], onUnasked: () => void): void {
      if (lines.every(isReply)) return;
      heard = heartbeatNow();
      onUnasked();
      for (const { type } of lines.flatMap(({ events }) => events))
        isTurnOver = isTurnOver ? !ACTIVITY.has(type) : type === 'turn-ended';
      unasked.emit();
    },
    lastHeard: () => ({ at: heard.at, silentMs: platform.uptimeMs() - heard.uptimeMs, isTurnOver }),
    onHeard: unasked.subscribe,
  };
}

/** How long the process must be silent after a line that is not understood before it is asked. */
const PAUSE_MS = 2_000;
/** How often in one turn: a process that always prints such lines, even in its replies, is not asked forever. */
const MAX_ASKS = 3;

const isUnknown = (event: AgentEvent) => event.type === 'notice' && event.entry.kind === 'unknown';

/** Watches for a turn whose end may be in a line that is not understood. @param ask asks the process what it is doing */
function watchUnknownLines(ask: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let asks = 0;
  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  return {
    stop,
    took(events: readonly AgentEvent[]): void {
      const isDue = timer !== undefined;
      stop();
      if (events.some(({ type }) => type === 'turn-ended')) asks = 0;
      else if ((isDue || events.some(isUnknown)) && asks < MAX_ASKS) {
        timer = setTimeout(() => {
          timer = undefined;
          asks += 1;
          ask();
        }, PAUSE_MS).unref();
      }
    },
  };
}

/** Returns what an MCP server of a conversation said when its start failed; null if nothing is known. */
export type ReadServer = (server: { conversationId: string; name: string }) => Promise<string | null>;

/** The words are logged up to a second after the failure; the beginning of the turn waits for them, but not longer. */
const SERVER_WAIT_MS = 1_500;
const SERVER_AGAIN_MS = 100;

async function textOf(read: ReadServer, server: Parameters<ReadServer>[0]): Promise<string | null> {
  for (let waited = 0; waited < SERVER_WAIT_MS; waited += SERVER_AGAIN_MS) {
    const said = await read(server).catch(() => null);
    if (said !== null) return said;
    await sleep(SERVER_AGAIN_MS);
  }
  return null;
}

type Started = Extract<AgentEvent, { type: 'turn-started' }>;

const failedIn = ({ mcpServers = [] }: Started) => mcpServers.filter(({ state }) => state === 'failed');

/** Adds to each turn what servers said themselves that failed at their start. */
function createServerText(read: ReadServer) {
  /** Those that were looked up: each beginning of a turn lists all servers. */
  const known = new Set<string>();

  async function withText(event: Started, conversationId: string): Promise<Started> {
    const fresh = failedIn(event).filter(({ name }) => !known.has(name));
    for (const { name } of fresh) known.add(name);
    const text = fresh.map(async ({ name }) => [name, await textOf(read, { conversationId, name })] as const);
    const said = (await Promise.all(text)).filter((pair): pair is [string, string] => pair[1] !== null);
    return { ...event, mcpText: Object.fromEntries(said) };
  }

  return {
    /** Whether a turn begins without a server that failed. */
    isDue: (lines: readonly LastingLine[]): boolean =>
      lines.some(({ events }) => events.some((event) => event.type === 'turn-started' && failedIn(event).length > 0)),
    /** Resolves with the lines to store. The event before the beginning of a turn names its conversation. */
    add: (lines: readonly LastingLine[]): Promise<LastingLine[]> =>
      Promise.all(
        lines.map(async (line) => {
          const conversation = line.events.find((event) => event.type === 'conversation');
          if (conversation === undefined) return line;
          const events = line.events.map((event) =>
            event.type === 'turn-started' ? withText(event, conversation.sessionId) : event,
          );
          return { ...line, events: await Promise.all(events) };
        }),
      ),
  };
}

/** The events of a line of the spool, without those that are only passed on live, and the offset behind it. */
export interface LastingLine {
  events: LastingEvent[];
  end: number;
}

export interface IngestDeps {
  store: Store;
  log: Logger;
  context: Omit<EventContext, 'tx' | 'change'>;
  stageId: Parameters<typeof openChange>[1];
  signal: AbortSignal;
  /** Stores in the same transaction which rows were written to the process since. */
  markIn: (tx: Tx) => Promise<void>;
}

/**
 * Stores lines together with the spool offset behind them, in one transaction. If the store fails (on a full disk, for
 * example), retries until it works or the signal aborts; the output stays in the spool meanwhile. A line that cannot be
 * applied is kept and shown raw, so that an unforeseen line does not stop a session.
 */
export async function ingestLines(deps: IngestDeps, lines: readonly LastingLine[]): Promise<void> {
  try {
    await retryUntilStored(deps, (tx) => applyLines(tx, deps, lines), { batch: true, stage: deps.stageId });
  } catch (error) {
    const [line, ...others] = lines;
    if (line === undefined || deps.signal.aborted) throw error;
    if (others.length === 0) return retainUnapplied(deps, line, error);
    for (const each of lines) await ingestLines(deps, [each]);
  }
}

async function retainUnapplied(deps: IngestDeps, line: LastingLine, cause: unknown): Promise<void> {
  const types = line.events.map(({ type }) => type);
  deps.log.error({ err: cause, types }, 'applying a line failed; keeping it raw');
  await retryUntilStored(deps, (tx) => storeRaw(tx, deps, line), { sync: 'later', stage: deps.stageId });
}

async function applyLines(tx: Tx, deps: IngestDeps, lines: readonly LastingLine[]): Promise<void> {
  const { context, stageId } = deps;
  await deps.markIn(tx);
  const events = lines.flatMap((line) => line.events);
  if (events.length > 0) {
    const change = await openChange(tx, stageId);
    for (const event of events) await applyEvent({ ...context, tx, change }, event);
    await saveChange(tx, change);
  }
  await tx.launches.setOffset(context.launchId, lines.at(-1)?.end ?? 0);
}

async function storeRaw(tx: Tx, deps: IngestDeps, { events, end }: LastingLine): Promise<void> {
  const { context, stageId } = deps;
  await deps.markIn(tx);
  const change = await openChange(tx, stageId);
  for (const raw of events) {
    addRaw(change, tx.now, raw);
    // Nobody will be asked, so the CLI must not wait.
    if (raw.type === 'asked') {
      const asked = { requestId: raw.requestId, subtype: raw.ask.toolName, permissionFor: raw.ask.toolName };
      await refuse({ ...context, tx, change }, asked);
    }
  }
  await saveChange(tx, change);
  await tx.launches.setOffset(context.launchId, end);
}

/** Returns the hosts that a command usually needs. */
export type FindHosts = (command: string) => Promise<string[]>;

/** How long a request waits at most for the hosts that it names; lock files can be long. */
const HOSTS_WAIT_MS = 500;

/** Whether a command runs in the sandbox and in the foreground, so that it is known when it ends. */
const staysInForeground = ({ input }: Ask): boolean =>
  input.dangerouslyDisableSandbox !== true && input.run_in_background !== true;

/** Adds to each command that is asked for the hosts that it usually needs. What cannot be read in time is left out. */
export async function addHosts(lines: readonly LastingLine[], find: FindHosts): Promise<LastingLine[]> {
  const withHosts = async (event: LastingEvent): Promise<LastingEvent> => {
    if (event.type !== 'asked' || event.ask.toolName !== 'Bash' || !staysInForeground(event.ask)) return event;
    const hosts = (await inTime(find(textField(event.ask.input, 'command')), HOSTS_WAIT_MS)) ?? [];
    return hosts.length === 0 ? event : { ...event, ask: { ...event.ask, hosts } };
  };
  return Promise.all(lines.map(async (line) => ({ ...line, events: await Promise.all(line.events.map(withHosts)) })));
}

/** How long a request waits at most for the file system, for example for a network drive that does not answer. */
const WRITTEN_FILES_WAIT_MS = 100;

type Asked = LastingLine['events'][number];
const isWrite = (event: Asked): boolean => event.type === 'asked' && event.ask.toolName === 'Write';

/** Whether there is a file to look at. */
const asksToWrite = (lines: readonly LastingLine[]): boolean => lines.some(({ events }) => events.some(isWrite));

/**
 * Looks whether the file of each `Write` that is asked for exists, before the request is stored: later nobody could tell what a
 * person was shown. A request whose file cannot be looked at in time says nothing about it.
 */
export async function inspectFiles(lines: readonly LastingLine[], worktree: string | null): Promise<LastingLine[]> {
  return Promise.all(
    lines.map(async (line) => {
      if (!line.events.some(isWrite)) return line;
      const events = line.events.map(async (event) =>
        event.type === 'asked' ? { ...event, ask: await withFile(event.ask, worktree) } : event,
      );
      return { ...line, events: await Promise.all(events) };
    }),
  );
}

async function withFile(ask: Ask, worktree: string | null): Promise<Ask> {
  const { file_path: path } = ask.input;
  if (ask.toolName !== 'Write' || typeof path !== 'string' || path === '') return ask;
  if (!isAbsolute(path) && worktree === null) return ask;
  const fileExists = await inTime(isThere(resolve(worktree ?? '/', path)), WRITTEN_FILES_WAIT_MS);
  return fileExists === null ? ask : { ...ask, fileExists };
}

/** Null if that is unknown: a folder on the way may not be read. */
async function isThere(path: string): Promise<boolean | null> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'ENOENT' ? false : null;
  }
}

async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T | null> {
  const { promise, resolve: give } = Promise.withResolvers<null>();
  const timer = setTimeout(() => give(null), limitMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
