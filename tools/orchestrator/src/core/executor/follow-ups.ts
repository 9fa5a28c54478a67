import { setTimeout as sleep } from 'node:timers/promises';
import type { StageId, TranscriptEntry } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { createReconciler } from '@callboard/runtime/reconciler';
import type { Logger } from '../../platform/runtime.ts';
import type { Store } from '../../store/store.ts';
import type { RecordedHook } from '../agent-event.ts';
import type { ConversationTail } from '../claude/conversation-file.ts';
import { ContextUsageReply, SessionCostReply } from '../claude/wire.ts';
import { NOTHING_USED } from '../session/apply-agent-event.ts';
import { changeSession } from '../session/change-session.ts';
import { showHookInputs } from '../session/tool-calls.ts';
import type { LowPriorityTask } from './low-priority-work.ts';

// What is found out besides the output, during a turn and after it: its usage, what hooks have changed, and whether the output
// agrees with Claude Code's own record.

export interface TranscriptCheckDeps {
  store: Store;
  log: Logger;
  stageId: StageId;
  readConversation: (conversationId: string) => Promise<ConversationTail | null>;
  onForged: () => Promise<void>;
  /** Runs work once the session is quiet, or after `latestMs`. */
  whenQuiet: (name: string, work: LowPriorityTask, latestMs: number) => void;
  signal: AbortSignal;
}

/** The CLI writes its record a moment after it prints, later on a busy machine, so missing entries are looked for again. */
const AGAIN_MS = [10_000, 20_000] as const;
/** A check does not wait for the end of a long next turn. */
const LATEST_MS = 10_000;
/** Entries of a turn before the newest ones are not compared. */
const LOOKBACK = 200;

/**
 * Compares the transcript of each turn that succeeded with Claude Code's own record, after the turn. It detects only clumsy
 * forgeries, because whoever can write the one file can write the other.
 */
export function createTranscriptCheck(parts: TranscriptCheckDeps): { turnEnded(): void } {
  const { store, log, stageId, signal } = parts;
  let conversation: string | null = null;

  async function check(): Promise<void> {
    const record = await store.read.sessions.find(stageId);
    if (record === null) return;
    const { sessionId, transcriptLength, lastTurn } = record;
    const before = conversation;
    conversation = sessionId;
    // The CLI does not always record an interrupted turn; entries before `/clear` are in another record.
    if (sessionId === null || lastTurn?.outcome !== 'succeeded' || (before !== null && before !== sessionId)) return;
    const compare = () => compareTurn(sessionId, transcriptLength);
    parts.whenQuiet(`transcript to ${transcriptLength}`, compare, LATEST_MS);
  }

  async function compareTurn(sessionId: string, transcriptLength: number): Promise<void> {
    const before = transcriptLength + 1;
    const turn = newestTurn(await store.read.transcript.page(stageId, { after: undefined, before, limit: LOOKBACK }));
    if (await isOfCommand(turn.flatMap((entry) => (entry.kind === 'user' ? (entry.messageId ?? []) : [])))) return;
    const isForged = async () => {
      const tail = await parts.readConversation(sessionId);
      return tail !== null && firstForged(turn, tail) !== null;
    };
    if (await isForged()) checkAgain(isForged).catch(noted);
  }

  async function checkAgain(isForged: () => Promise<boolean>): Promise<void> {
    for (const delay of AGAIN_MS) {
      await sleep(delay, undefined, { signal, ref: false });
      if (!(await isForged())) return;
    }
    await parts.onForged();
  }

  /** The CLI does not always record the output of a command. */
  async function isOfCommand(messageIds: readonly string[]): Promise<boolean> {
    const { launchId } = (await store.read.sessions.find(stageId)) ?? {};
    if (launchId == null) return true;
    const rows = await Promise.all(messageIds.map((id) => store.read.outbox.findByWireId(launchId, id)));
    return rows.some((row) => row?.body.kind === 'message' && row.body.isCommand);
  }

  function noted(error: unknown): void {
    if (!signal.aborted) log.info({ reason: messageOf(error) }, 'comparing the transcript failed');
  }

  return {
    turnEnded() {
      check().catch(noted);
    },
  };
}

/** Returns the entries between the last two ends of turns, including any that may be forged. */
function newestTurn(entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  const isEnd = ({ kind }: TranscriptEntry) => kind === 'turn-end';
  const end = entries.findLastIndex(isEnd);
  return entries.slice(entries.slice(0, Math.max(0, end)).findLastIndex(isEnd) + 1, Math.max(0, end));
}

/**
 * Returns the first entry that the transcript shows as Claude's and that is missing in Claude Code's record; null if there
 * is none, or if no entry is found: then the record has a form that Callboard does not understand.
 */
export function firstForged(entries: readonly TranscriptEntry[], tail: ConversationTail): TranscriptEntry | null {
  const said = entries.filter((entry) => isOwn(entry));
  const firstFound = said.findIndex((entry) => isFound(entry, tail));
  if (firstFound === -1) return null;
  return said.slice(tail.isWhole ? 0 : firstFound).find((entry) => !isFound(entry, tail)) ?? null;
}

/** Whether it belongs to the main conversation; subagents have records of their own. */
const isOwn = ({ kind, parentToolUseId }: TranscriptEntry): boolean =>
  parentToolUseId === null && (kind === 'text' || kind === 'tool-use');

function isFound(entry: TranscriptEntry, { texts, toolUseIds }: ConversationTail): boolean {
  if (entry.kind === 'tool-use') return toolUseIds.has(entry.toolUseId);
  if (entry.kind !== 'text') return true;
  const known = texts.get(entry.blockId.slice(0, entry.blockId.lastIndexOf(':')));
  if (known === undefined) return false;
  // A long text is kept shortened.
  return entry.text.length > LONG || known.has(entry.text);
}

const LONG = 1_000_000;

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
export function createHookInputs({ store, log, stageId, worktree, readHooks, signal }: HookInputDeps) {
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
