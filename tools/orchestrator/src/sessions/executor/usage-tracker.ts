import type { StageId } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { ContextUsageReply, SessionCostReply } from '../../claude/wire/control.ts';
import { NOTHING_USED } from '../../domain/apply-agent-event.ts';
import { changeSession } from '../../domain/change-session.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../../store/store.ts';
import type { LowPriorityTask } from '../watch/low-priority-work.ts';

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
      { sync: 'later' },
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
      { sync: 'later' },
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
