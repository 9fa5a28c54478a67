import type { StageId, TextDelta } from '@callboard/contract';
import type { Channel } from '../claude/channel.ts';
import { giveBack } from '../claude/launch/give-back.ts';
import { launchFiles } from '../claude/launch/launch-folder.ts';
import type { AgentProcess } from '../claude/launch/spawn-claude.ts';
import { createProtocolPeer, type ReadLine } from '../claude/protocol-peer.ts';
import { ContextUsageReply } from '../claude/wire/messages.ts';
import type { AgentEvent } from '../domain/agent-event.ts';
import type { Bell } from '../lib/bell.ts';
import type { Edges } from '../lib/edges.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createNudged, settlesWithin } from '../lib/wait.ts';
import { blockId } from '../session-state/apply-event.ts';
import { changeSession } from '../session-state/change-session.ts';
import type { LaunchRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { createOutboxWriter } from './outbox-writer.ts';
import { type LastingLine, takeIn } from './take-in.ts';

export interface ExecutorParts {
  store: Store;
  edges: Edges;
  log: Logger;
  /** Rung with a stage's id when its launch has something to write. */
  outboxBell: Bell<StageId>;
  onTextDelta: (delta: TextDelta) => void;
  /** Something other than Callboard answered a request. */
  onForeignAnswer: (stageId: StageId) => void;
}

/** Drives one `claude` process: reads what it prints into the store, writes its outbox. */
export interface SessionExecutor {
  readonly launch: LaunchRecord;
  readonly process: AgentProcess;
  /**
   * Puts a control request into the outbox and waits for the CLI's reply.
   * @throws as `ProtocolPeer.reply`
   */
  request(
    request: { subtype: string; [field: string]: unknown },
    signal: AbortSignal,
  ): Promise<Record<string, unknown>>;
  /** The reply to a control request that is in the outbox already. */
  reply(requestId: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  /** When the process last printed anything, or was taken up. */
  lastHeardAt(): Date;
  /** The process is gone: take in the rest of what it printed. Resolves when that is done. */
  finish(): Promise<void>;
  /** Lets go of the process, which lives on. */
  detach(): Promise<void>;
}

const isLasting = (event: AgentEvent): event is LastingLine['events'][number] => event.type !== 'delta';

/** An offset that only live text has moved is stored when it has moved this far. */
const LAZY_OFFSET_BYTES = 1024 * 1024;

/** The spool is given back to the disk in pieces of at least this size: each costs a process. */
const GIVE_BACK_BYTES = 4 * 1024 * 1024;

const LAST_LINE_MS = 1_000;
const CONTEXT_USAGE_MS = 10_000;
/** The CLI takes a while to count; a message that follows at once is not made to wait for that. */
const CONTEXT_USAGE_PAUSE_MS = 300;

export function createSessionExecutor(
  launch: LaunchRecord,
  process: AgentProcess,
  channel: Channel,
  worktree: string | null,
  parts: ExecutorParts,
): SessionExecutor {
  const { store, edges, outboxBell } = parts;
  const { stageId, id: launchId } = launch;
  const log = parts.log.child({ stageId, launchId });
  let storedOffset = launch.spoolOffset;
  let givenBack = launch.spoolOffset;
  let lastHeardAt = edges.now();
  let contextUsageTimer: NodeJS.Timeout | undefined;

  const letting = new AbortController();
  const context = { launchId, edges, worktree, onForeignAnswer: () => parts.onForeignAnswer(stageId) };

  async function onLines(lines: ReadLine[]): Promise<void> {
    lastHeardAt = edges.now();
    const lasting = lines.map(({ events, end }) => ({ end, events: events.filter(isLasting) }));
    for (const { events } of lines) for (const event of events) if (event.type === 'delta') passOn(event);
    const end = lines.at(-1)?.end ?? storedOffset;
    if (lasting.every(({ events }) => events.length === 0) && end - storedOffset < LAZY_OFFSET_BYTES) return;
    await takeIn({ store, log, context, stageId, signal: letting.signal }, lasting);
    storedOffset = end;
    writer.nudge();
    if (end - givenBack >= GIVE_BACK_BYTES) spoolKeeper.nudge();
    if (lasting.some(({ events }) => events.some((event) => event.type === 'turn-ended'))) {
      clearTimeout(contextUsageTimer);
      contextUsageTimer = setTimeout(() => void updateContextUsage(), CONTEXT_USAGE_PAUSE_MS).unref();
    }
  }

  /** How full the context is can only be asked for. A reply that does not come, or is not understood, changes nothing. */
  async function updateContextUsage(): Promise<void> {
    try {
      const reply = await request(
        { subtype: 'get_context_usage', detail: 'summary' },
        AbortSignal.timeout(CONTEXT_USAGE_MS),
      );
      const { response } = ContextUsageReply.parse(reply);
      const contextUsage = {
        usedTokens: response.totalTokens,
        maxTokens: response.maxTokens,
        percentage: response.percentage,
      };
      await store.transact((tx) =>
        changeSession(tx, stageId, (draft) => {
          draft.record = { ...draft.record, contextUsage };
        }),
      );
    } catch (error) {
      log.info({ reason: messageOf(error) }, 'the context usage is not known');
    }
  }

  async function request(fields: { subtype: string; [field: string]: unknown }, signal: AbortSignal) {
    const wireId = edges.newWireId();
    const reply = peer.reply(wireId, signal);
    reply.catch(() => undefined); // awaited below, unless storing the row fails first
    await store.transact(async (tx) => {
      const row = { id: edges.newId(), stageId, launchId, wireId, actor: null, createdAt: tx.now };
      await tx.outbox.insert({ ...row, body: { kind: 'control', request: fields } });
    });
    writer.nudge();
    return reply;
  }

  function passOn({ apiMessageId, index, kind, text, parentToolUseId }: Extract<AgentEvent, { type: 'delta' }>): void {
    parts.onTextDelta({ stageId, blockId: blockId(apiMessageId, index), kind, text, parentToolUseId });
  }

  /** One at a time, however fast the process prints. */
  const spoolKeeper = createNudged(
    async () => {
      givenBack = storedOffset;
      await giveBack(launchFiles(launch.folder).spool, givenBack);
    },
    (error) => log.warn({ err: error }, 'the spool could not be given back'),
  );
  const writer = createOutboxWriter({
    store,
    channel,
    launchId,
    onGone: () => log.info('the process reads no more'),
    onError: (error) => log.error({ err: error }, 'writing the outbox failed'),
  });
  const peer = createProtocolPeer(channel, { onLines });
  const unlisten = outboxBell.listen(stageId, writer.nudge);
  peer.closed.catch((error: unknown) => log.error({ err: error }, 'reading the spool failed'));
  writer.nudge();

  async function letGo(): Promise<void> {
    unlisten();
    clearTimeout(contextUsageTimer);
    letting.abort();
    // A line on its way gets this long; one that a stopped process does not take is cut off whole, or bears a mark.
    await settlesWithin(writer.stop(), LAST_LINE_MS);
    await spoolKeeper.stop();
    channel.close();
  }

  return {
    launch,
    process,
    request,
    reply: peer.reply,
    lastHeardAt: () => lastHeardAt,
    async finish() {
      channel.finish();
      await peer.closed.catch(() => undefined);
      await letGo();
    },
    async detach() {
      await letGo();
      await peer.closed.catch(() => undefined);
    },
  };
}
