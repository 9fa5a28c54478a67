import { setTimeout as sleep } from 'node:timers/promises';
import type { LiveNow, StageId, TextDelta } from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import { messageOf } from '@callboard/runtime/errors';
import { createReconciler, type Reconciler } from '@callboard/runtime/reconciler';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { LaunchRecord } from '../../store/records.ts';
import type { RetryDeps, Store } from '../../store/store.ts';
import type { AgentEvent, LastingEvent, RecordedHook } from '../agent-event.ts';
import { launchFiles, reclaimSpool } from '../claude/claude-process.ts';
import type { ReadLine } from '../claude/protocol-peer.ts';
import { OUTPUT_CUT_OFF } from '../claude/translate.ts';
import { ContextUsageReply, SessionCostReply } from '../claude/wire.ts';
import { blockId, NOTHING_USED } from '../session/apply-agent-event.ts';
import { changeSession } from '../session/change-session.ts';
import { alarmOf, raiseAlarm } from '../session/requests.ts';
import type { EventContext } from '../session/session-change.ts';
import { showHookInputs } from '../session/tool-calls.ts';
import {
  asksToWrite,
  createServerText,
  ingestLines,
  inspectFiles,
  type LastingLine,
  type ReadServer,
} from './ingest-output.ts';
import { createLiveNow, createLiveText } from './live-now.ts';
import type { LowPriorityTask, LowPriorityWork } from './low-priority-work.ts';
import type { OutboxWriter } from './outbox-writer.ts';
import { createTranscriptCheck, type TranscriptCheckDeps } from './transcript-check.ts';

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
    async onLines(lines: ReadLine[]): Promise<void> {
      activity.take(lines, () => deps.lowPriorityWork.recordActivity(stageId));
      for (const { events } of lines) for (const event of events) passOnLive(event);
      const end = lines.at(-1)?.end ?? storedOffset;
      if (!lines.some(({ events }) => events.some(isLasting)) && end - storedOffset < LAZY_OFFSET_BYTES) return;
      const lasting = lines.map((line) => ({ end: line.end, events: line.events.filter(isLasting) }));
      const seen = await checkedAt(lasting, context, servers);
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
  { worktree }: Pick<EventContext, 'worktree'>,
  servers: ReturnType<typeof createServerText>,
): Promise<LastingLine[]> {
  const seen = asksToWrite(lines) ? await inspectFiles(lines, worktree) : lines;
  return servers.isDue(seen) ? servers.add(seen) : seen;
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

export interface HookInputDeps {
  store: Store;
  log: Logger;
  stageId: StageId;
  worktree: string | null;
  /** Reads which hooks ran for which calls, from Claude Code's own record of a conversation. */
  readHooks: (conversationId: string) => Promise<readonly RecordedHook[]>;
  /** Aborts when the executor is detached; the next one goes on. */
  signal: AbortSignal;
}

/** The record is written a moment after the output, later on a busy machine. After the last try, the transcript says what is not known. */
const TRIES_MS = [100, 200, 500, 1_000, 3_000, 10_000, 20_000] as const;

/** Says in the transcript which calls hooks have changed, once Claude Code's own record names the calls. */
function createHookInputs({ store, log, stageId, worktree, readHooks, signal }: HookInputDeps) {
  async function show(isLast: boolean): Promise<boolean> {
    const { hookInputs = [] } = (await store.read.sessions.find(stageId)) ?? {};
    if (hookInputs.length === 0) return true;
    const conversations = new Set(hookInputs.flatMap(({ conversationId }) => conversationId ?? []));
    const recorded = (await Promise.all([...conversations].map(readHooks))).flat();
    let isDone = false;
    await store.transact((tx) =>
      changeSession(tx, stageId, async (change) => {
        isDone = await showHookInputs(tx, change, { recorded, worktree, isLast });
      }),
    );
    return isDone;
  }

  const worker = createReconciler(async () => {
    for (const [index, delay] of TRIES_MS.entries()) {
      await sleep(delay, undefined, { signal, ref: false });
      if (await show(index === TRIES_MS.length - 1)) return;
    }
  }, failed);

  function failed(error: unknown): void {
    if (!signal.aborted) log.warn({ err: error }, 'showing what hooks changed failed');
  }

  return {
    /** A hook has changed a call. */
    changed: worker.schedule,
    /** The process is gone, and its record complete. */
    finish: async () => {
      await show(true).catch(failed);
    },
  };
}

/** Keeps the usage of a session (context, cost, tokens) current, during a turn and after it. */
export interface UsageTracker {
  /** The process did something in a turn: its usage is requested soon, at most every ten seconds. */
  worked(): void;
  turnEnded(): void;
  stop(): void;
}

export interface UsageTrackerDeps {
  store: Store;
  log: Logger;
  stageId: StageId;
  uptimeMs: () => number;
  /** Sends a control request to the CLI. */
  request: (fields: { subtype: string; detail?: string }, signal: AbortSignal) => Promise<Record<string, unknown>>;
  /** Runs work once the session is quiet. */
  whenQuiet: (name: string, work: LowPriorityTask) => void;
  /** The shortest time between two requests in a running turn. */
  everyMs: number;
}

const REPLY_MS = 10_000;
/** A turn that ends sooner is not interrupted by a request. */
const WORK_PAUSE_MS = 2_000;

export function createUsageTracker({
  store,
  log,
  stageId,
  uptimeMs,
  request,
  whenQuiet,
  everyMs,
}: UsageTrackerDeps): UsageTracker {
  let timer: NodeJS.Timeout | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  function checkIn(ms: number): void {
    timer = setTimeout(() => {
      timer = undefined;
      checkedAt = uptimeMs();
      // A missing or unexpected reply changes nothing.
      inspectTurn().catch((error: unknown) =>
        log.info({ reason: messageOf(error) }, 'requesting the usage of a session failed'),
      );
    }, ms).unref();
  }

  /** The CLI takes a while to count (18 ms, seen), and reads no messages meanwhile. */
  async function inspectContext(signal?: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(REPLY_MS);
    const limit = signal === undefined ? late : AbortSignal.any([signal, late]);
    const { response } = ContextUsageReply.parse(
      await request({ subtype: 'get_context_usage', detail: 'summary' }, limit),
    );
    const { totalTokens: usedTokens, maxTokens, percentage } = response;
    await store.transact(
      (tx) =>
        changeSession(tx, stageId, (change) => {
          change.record = { ...change.record, contextUsage: { usedTokens, maxTokens, percentage } };
        }),
      { sync: 'later', stage: stageId },
    );
  }

  /** `get_session_cost` counts locally; `get_usage` may ask the API for rate limits, so it is not asked in a turn. */
  async function inspectTurn(): Promise<void> {
    const reply = await request({ subtype: 'get_session_cost' }, AbortSignal.timeout(REPLY_MS));
    const counted = SessionCostReply.safeParse(reply).data?.response.text;
    await store.transact(
      (tx) =>
        changeSession(tx, stageId, (change) => {
          const { turnRunning, costCounted, costUsd, turnUsage } = change.record;
          if (!turnRunning) return; // the turn has ended meanwhile and reported its usage
          const ownCost = counted === undefined ? 0 : Math.max(0, counted - (costCounted ?? costUsd));
          const tokens = turnUsage?.tokens ?? NOTHING_USED.tokens;
          change.record = { ...change.record, turnUsage: { costUsd: ownCost, tokens } };
        }),
      { sync: 'later', stage: stageId },
    );
    await inspectContext();
  }

  return {
    worked() {
      if (timer === undefined) checkIn(Math.max(WORK_PAUSE_MS, checkedAt + everyMs - uptimeMs()));
    },
    turnEnded() {
      stop();
      whenQuiet('context', inspectContext);
    },
    stop,
  };
}
