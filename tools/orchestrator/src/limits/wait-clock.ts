import type { SessionSummary, StageId, StageView } from '@callboard/contract';
import type { Platform } from '../lib/edges.ts';
import type { Store } from '../store/store.ts';

export interface WaitClockDeps {
  store: Pick<Store, 'read' | 'onEvent'>;
  platform: Pick<Platform, 'now' | 'uptimeMs'>;
  /** How often the time of day is read: somebody may set it. */
  checkIntervalMs: number;
  /** Called when stages may go on, and again every `checkIntervalMs` while they have not. */
  onDue: () => void;
}

/** Tells which stages have waited long enough for a usage limit. */
export interface WaitClock {
  isDue(stage: Pick<StageView, 'id' | 'completedAt' | 'session'>): boolean;
  stop(): void;
}

/**
 * Follows the waits of all sessions, also those from before a restart. A wait is over when the time of day says so, or when as much
 * time has passed as it said at first: whoever sets the clock back does not make stages wait for longer.
 */
export async function startWaitClock({ store, platform, checkIntervalMs, onDue }: WaitClockDeps): Promise<WaitClock> {
  /** When each wait is over, by the time of day and in `uptimeMs`. */
  const waits = new Map<StageId, { goesOnAt: string; deadline: number }>();
  let timer: NodeJS.Timeout | undefined;

  function follow({ stageId, limitWait }: Pick<SessionSummary, 'stageId' | 'limitWait'>): void {
    const goesOnAt = limitWait?.goesOnAt ?? null;
    if (limitWait === null || goesOnAt === null) return void waits.delete(stageId);
    if (waits.get(stageId)?.goesOnAt === goesOnAt) return;
    const wholeMs = Date.parse(goesOnAt) - Date.parse(limitWait.since);
    const leftMs = Math.min(Math.max(0, Date.parse(goesOnAt) - platform.now().getTime()), Math.max(0, wholeMs));
    waits.set(stageId, { goesOnAt, deadline: platform.uptimeMs() + leftMs });
  }

  const leftOf = ({ goesOnAt, deadline }: { goesOnAt: string; deadline: number }): number =>
    Math.min(Date.parse(goesOnAt) - platform.now().getTime(), deadline - platform.uptimeMs());

  function schedule(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waits.size === 0) return;
    const soonest = Math.min(...[...waits.values()].map(leftOf));
    const inMs = soonest <= 0 ? checkIntervalMs : Math.min(soonest, checkIntervalMs);
    timer = setTimeout(() => {
      if ([...waits.values()].some((wait) => leftOf(wait) <= 0)) onDue();
      schedule();
    }, inMs).unref();
  }

  const unlisten = store.onEvent(({ type, data }) => {
    if (type === 'stage-removed') waits.delete(data.stageId);
    if (type !== 'session-updated') return;
    const before = waits.size;
    follow(data);
    if (data.limitWait !== null || waits.size !== before) schedule();
  });
  for (const session of await store.read.sessions.list()) follow(session);
  schedule();
  return {
    isDue({ id, completedAt, session }) {
      const wait = waits.get(id);
      if (session === null || wait === undefined || session.limitWait?.goesOnAt !== wait.goesOnAt) return false;
      if (completedAt !== null || session.alarm !== null || session.terminal !== null || session.isGoingBack)
        return false;
      return (session.state === 'idle' || session.state === 'ended') && leftOf(wait) <= 0;
    },
    stop: () => {
      unlisten();
      clearTimeout(timer);
    },
  };
}
