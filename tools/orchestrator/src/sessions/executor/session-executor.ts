import type { StageId, TextDelta } from '@callboard/contract';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { AgentEvent, LastingEvent } from '../../agent/agent-event.ts';
import type { Channel } from '../../claude/launch/channel.ts';
import { launchFiles, reclaimSpool } from '../../claude/launch/launch-folder.ts';
import type { AgentProcess } from '../../claude/launch/spawn-claude.ts';
import { createProtocolPeer, type ReadLine } from '../../claude/protocol-peer.ts';
import { OUTPUT_CUT_OFF } from '../../claude/translate.ts';
import { blockId } from '../../domain/apply-agent-event.ts';
import { changeSession } from '../../domain/change-session.ts';
import { alarmOf, raiseAlarm } from '../../domain/session-alarm.ts';
import { addEntry } from '../../domain/session-change.ts';
import type { Bell } from '../../lib/bell.ts';
import type { Edges } from '../../lib/edges.ts';
import type { Logger } from '../../lib/logger.ts';
import { createNudgedWorker } from '../../lib/nudged-worker.ts';
import type { LaunchRecord } from '../../store/records.ts';
import type { CommitOptions, Store } from '../../store/store.ts';
import { retryUntilStored } from '../retry-until-stored.ts';
import type { LowPriorityTask, LowPriorityWork } from '../watch/low-priority-work.ts';
import { ingestLines } from './ingest-lines.ts';
import { createLiveText } from './live-text.ts';
import { createOutboxWriter } from './outbox-writer.ts';
import { createTranscriptCheck, type TranscriptCheckParts } from './transcript-check.ts';
import { watchUnknownLines } from './unknown-lines.ts';
import { unreadableText } from './unreadable.ts';
import { createUsageTracker } from './usage-tracker.ts';

export interface ExecutorParts {
  store: Store;
  edges: Edges;
  log: Logger;
  /** Rung with a stage's id when its launch has something to write. */
  outboxBell: Bell<StageId>;
  lowPriorityWork: Pick<LowPriorityWork, 'add' | 'stir'>;
  onTextDelta: (delta: TextDelta) => void;
  /** The session was put under alarm. */
  onAlarm: (stageId: StageId) => void;
  /** A call ran, and a permission rule may be why nobody was asked. */
  onRuleUsed: (stageId: StageId, toolUseId: string) => void;
  /** A permission rule denied a call, and nothing said which one. */
  onRuleDenied: (stageId: StageId, toolUseId: string) => void;
  /** A call ran because a hook allowed it. */
  onHookUsed: (stageId: StageId) => void;
  /** A line of a living process was cut off or is not understood, and what it said is lost. */
  onCutOff: (stageId: StageId) => void;
  /** A process tells its version, as it does at the beginning of each turn. */
  onVersion: (version: string) => void;
  /** What a living process prints can no longer be read; its transcript says why. */
  onUnreadable: (stageId: StageId) => void;
}

/** Drives one `claude` process: reads what it prints into the store, writes its outbox. */
export interface SessionExecutor {
  readonly launch: LaunchRecord;
  readonly process: AgentProcess;
  /**
   * Puts a control request into the outbox and waits for the CLI's reply.
   * @param reason with one that ends a turn or the process: why, and who wanted it, in words
   * @throws as `ProtocolPeer.reply`
   */
  request(
    request: { subtype: string; [field: string]: unknown },
    signal: AbortSignal,
    reason?: string,
  ): Promise<Record<string, unknown>>;
  /** The reply to a control request that is in the outbox already. */
  reply(requestId: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** What it is writing just now, each block from its beginning. */
  liveText(): TextDelta[];
  /** Resolves when all that was written to it is marked so in the store. @throws OperationalError `storage_failed` */
  marked(): Promise<void>;
  /**
   * When the process last printed anything by itself or was taken up: by the clock on the wall, and how long ago that is; and
   * whether it has ended its turn since it last did something.
   */
  lastHeard(): { at: Date; silentMs: number; isTurnOver: boolean };
  /** Calls whenever it prints anything by itself. Returns how to stop listening. */
  onHeard(listener: () => void): () => void;
  /** The file that the process prints to, and how far what it printed is in the store. */
  spool(): { path: string; readTo: number };
  /** The process is gone: take in the rest of what it printed. Resolves when that is done. */
  finish(): Promise<void>;
  /** Lets go of the process, which lives on. */
  detach(): Promise<void>;
}

const isLasting = (event: AgentEvent): event is LastingEvent => event.type !== 'delta' && event.type !== 'used';
/** Claude did something: its figures have moved. */
const isWork = ({ type }: AgentEvent) => type === 'block' || type === 'tool-result';

/** What it does in a turn; one that was begun by nobody here, too. */
const ACTIVITY = new Set<AgentEvent['type']>([
  'turn-started',
  'message-echoed',
  'block',
  'delta',
  'tool-result',
  'asked',
  'task-started',
]);

/** What a process prints because it was asked, also where it works on nothing: the list of tasks follows each `initialize`. */
const REPLIES = new Set<AgentEvent['type']>(['response', 'initialized', 'offered', 'cost-count', 'tasks']);
const isReply = ({ events }: ReadLine) => events.length > 0 && events.every(({ type }) => REPLIES.has(type));

const isCutOff = (event: AgentEvent) =>
  event.type === 'notice' && event.entry.kind === 'notice' && event.entry.code === OUTPUT_CUT_OFF;

/** An offset that only live text has moved is stored when it has moved this far. */
const LAZY_OFFSET_BYTES = 1024 * 1024;

/** The spool is given back to the disk in pieces of at least this size: each costs a process. */
const GIVE_BACK_BYTES = 4 * 1024 * 1024;

const LAST_LINE_MS = 1_000;
/** How often the figures of a running turn are asked for at most. */
const FIGURES_EVERY_MS = 10_000;

/** Where and how the process works. */
export interface ExecutorPlace {
  worktree: string | null;
  mayHooksAllow: boolean;
  /** The machine has been started anew since the process ran: what it printed last may never have reached the disk. */
  isOfEarlierBoot: boolean;
  /** Claude Code's own record of a conversation. */
  readConversation: TranscriptCheckParts['readConversation'];
}

export function createSessionExecutor(
  launch: LaunchRecord,
  process: AgentProcess,
  channel: Channel,
  { worktree, mayHooksAllow, isOfEarlierBoot, readConversation }: ExecutorPlace,
  parts: ExecutorParts,
): SessionExecutor {
  const { store, edges, outboxBell, lowPriorityWork } = parts;
  const { stageId, id: launchId } = launch;
  const log = parts.log.child({ stageId, launchId });
  const live = createLiveText(stageId);
  let storedOffset = launch.spoolOffset;
  let givenBack = launch.spoolOffset;
  let heard = hearNow();
  let isTurnOver = false;
  const hearing = new Set<() => void>();
  let finishing = false;

  const letting = new AbortController();
  const storing = { store, log, signal: letting.signal };
  const unknownLines = watchUnknownLines(() => parts.onCutOff(stageId));
  const onAlarm = () => parts.onAlarm(stageId);
  // A launch that has not ended and knows why it did stands in a backup that has taken the place of the store. One of an
  // earlier boot may stand in a store that lost its last second in a power cut.
  const knowsAll = launch.endReason === null && !isOfEarlierBoot;
  const { isSandboxed: isOn, autoAllows, sessionMessages: mayPeersWrite } = launch.settings;
  const sandbox = { isOn, autoAllows };
  const context = { launchId, edges, worktree, mayHooksAllow, mayPeersWrite, sandbox, knowsAll, onAlarm };

  function hearNow() {
    return { at: edges.now(), uptimeMs: edges.uptimeMs() };
  }

  async function onLines(lines: ReadLine[]): Promise<void> {
    if (!lines.every(isReply)) {
      heard = hearNow();
      lowPriorityWork.stir(stageId);
      for (const event of lines.flatMap(({ events }) => events))
        isTurnOver = isTurnOver ? !ACTIVITY.has(event.type) : event.type === 'turn-ended';
      for (const listener of hearing) listener();
    }
    for (const { events } of lines)
      for (const event of events) {
        if (event.type === 'delta') passOn(event);
        if (event.type === 'used') figures.used(event.tokens);
      }
    const end = lines.at(-1)?.end ?? storedOffset;
    if (!lines.some(({ events }) => events.some(isLasting)) && end - storedOffset < LAZY_OFFSET_BYTES) return;
    const lasting = lines.map((line) => ({ end: line.end, events: line.events.filter(isLasting) }));
    await ingestLines({ ...storing, context, stageId, markIn: writer.markIn }, lasting);
    storedOffset = end;
    writer.nudge();
    for (const { events } of lasting)
      for (const event of events) {
        if (event.type === 'turn-started' && event.version) parts.onVersion(event.version);
        if (event.type === 'tool-result' && event.underRule) parts.onRuleUsed(stageId, event.toolUseId);
        if (event.type === 'call-denied' && event.denial.source === 'rule')
          parts.onRuleDenied(stageId, event.toolUseId);
        if (event.type === 'tool-result' && event.allowedBy === 'hook') parts.onHookUsed(stageId);
      }
    if (!finishing && lasting.some(({ events }) => events.some(isCutOff))) parts.onCutOff(stageId);
    if (end - givenBack >= GIVE_BACK_BYTES) spoolKeeper.nudge();
    const told = lasting.flatMap(({ events }) => events);
    if (!finishing) unknownLines.took(told);
    if (told.some(isWork)) figures.worked();
    if (told.some(({ type }) => type === 'turn-ended')) {
      live.clear();
      figures.turnEnded();
      if (!finishing && knowsAll) transcriptCheck.turnEnded();
    }
  }

  /** What waits when the process is let go of is dropped. */
  function whenQuiet(name: string, work: LowPriorityTask, latestMs?: number): void {
    const unlessGone: LowPriorityTask = async (signal) => {
      if (!letting.signal.aborted) await work(AbortSignal.any([signal, letting.signal]));
    };
    lowPriorityWork.add(stageId, name, unlessGone, latestMs);
  }

  const transcriptCheck = createTranscriptCheck({
    ...{ store, log, stageId, readConversation, whenQuiet, signal: letting.signal },
    onForged: async () => {
      await store.transact((tx) =>
        changeSession(tx, stageId, (change) => raiseAlarm({ tx, change, onAlarm }, alarmOf('transcript-mismatch'))),
      );
    },
  });

  async function request(
    fields: { subtype: string; [field: string]: unknown },
    signal: AbortSignal,
    reason?: string,
    options?: CommitOptions,
  ) {
    const wireId = edges.newWireId();
    const reply = peer.reply(wireId, signal);
    reply.catch(() => undefined); // awaited below, unless storing the row fails first
    await store.transact(async (tx) => {
      const row = { id: edges.newId(), stageId, launchId, wireId, actor: null, createdAt: tx.now };
      // Marked before it is written, so that it is never written twice: here already, where that is right after the commit.
      const state = writer.takesAtOnce() ? 'written' : 'accepted';
      await tx.outbox.insert({ ...row, state, body: { kind: 'control', request: fields, reason } });
    }, options);
    return reply;
  }

  function passOn({ apiMessageId, index, kind, text, parentToolUseId }: Extract<AgentEvent, { type: 'delta' }>): void {
    parts.onTextDelta(live.add({ blockId: blockId(apiMessageId, index), kind, text, parentToolUseId }));
  }

  const figures = createUsageTracker({
    ...{ store, log, stageId, whenQuiet },
    ...{ uptimeMs: edges.uptimeMs, everyMs: FIGURES_EVERY_MS },
    request: (fields, signal) => request(fields, signal, undefined, { sync: 'later' }), // a question: nobody misses it
  });
  /** One at a time, however fast the process prints. */
  const spoolKeeper = createNudgedWorker(
    async () => {
      givenBack = storedOffset;
      // A power cut may take the store back to where it was last synced; what it has not read by then must still be there.
      await store.sync();
      await reclaimSpool(launchFiles(launch.folder).spool, givenBack);
    },
    (error) => log.warn({ err: error }, 'the spool could not be given back'),
  );
  const writer = createOutboxWriter({
    store,
    edges,
    channel,
    launchId,
    onGone: () => log.info('the process reads no more'),
    onError: (error) => log.error({ err: error }, 'writing the outbox failed'),
  });
  const peer = createProtocolPeer(channel, { onLines });
  const unlisten = [store.onGiven(launchId, writer.take), outboxBell.listen(stageId, writer.nudge)];
  const read = peer.closed.catch(keepUnreadable);
  read.catch((error: unknown) => log.error({ err: error }, 'that the spool cannot be read could not be stored'));
  writer.nudge();

  async function keepUnreadable(error: unknown): Promise<void> {
    if (letting.signal.aborted) return;
    log.error({ err: error }, 'reading the spool failed');
    const text = unreadableText(error, isOfEarlierBoot);
    const entry = { kind: 'notice', parentToolUseId: null, level: 'error', code: 'output-lost', text } as const;
    await retryUntilStored(storing, (tx) => changeSession(tx, stageId, (change) => addEntry(change, tx.now, entry)));
    if (!finishing) parts.onUnreadable(stageId);
  }

  async function letGo(): Promise<void> {
    for (const stop of unlisten) stop();
    figures.stop();
    unknownLines.stop();
    letting.abort();
    // A line on its way gets this long; one that a stopped process does not take is cut off whole, or bears a mark.
    await settlesWithin(writer.stop(), LAST_LINE_MS);
    await writer.mark().catch((error: unknown) => log.info({ err: error }, 'what was written could not be marked'));
    await spoolKeeper.stop();
    channel.close();
  }

  return {
    launch,
    process,
    request,
    reply: peer.reply,
    liveText: live.blocks,
    marked: writer.mark,
    lastHeard: () => ({ at: heard.at, silentMs: edges.uptimeMs() - heard.uptimeMs, isTurnOver }),
    onHeard(listener) {
      hearing.add(listener);
      return () => void hearing.delete(listener);
    },
    spool: () => ({ path: launchFiles(launch.folder).spool, readTo: storedOffset }),
    async finish() {
      finishing = true;
      channel.finish();
      await read.catch(() => undefined);
      await settlesWithin(writer.stop(), LAST_LINE_MS);
      await retryUntilStored(storing, writer.markIn); // whoever settles the end relies on it
      await letGo();
    },
    async detach() {
      await letGo();
      await peer.closed.catch(() => undefined);
    },
  };
}
