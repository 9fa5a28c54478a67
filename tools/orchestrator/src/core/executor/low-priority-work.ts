import { isActive, type SessionState, type StageId } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { Logger, Platform } from '../../platform/runtime.ts';
import { onSessionChange, type Store } from '../../store/store.ts';

/** Work that a session causes and that may wait. If the signal aborts it, it runs again later. */
export type LowPriorityTask = (signal: AbortSignal) => Promise<void>;

/** Runs work while no turn needs the machine. */
export interface LowPriorityWork {
  /**
   * Runs the work once the session is quiet, one task at a time for each session. A turn that begins aborts the work, which
   * then waits again. Replaces a waiting task of the same name.
   * @param latestMs the longest wait: after it, the work runs even during a turn
   */
  add(stageId: StageId, name: string, work: LowPriorityTask, latestMs?: number): void;
  /** The session has printed or received something, so it is not quiet. */
  recordActivity(stageId: StageId): void;
  /** Starts nothing new; resolves when running work was aborted and has ended. */
  stop(): Promise<void>;
}

export interface LowPriorityWorkDeps {
  store: Store;
  platform: Platform;
  log: Logger;
}

/** After how long without activity a session is quiet. */
const QUIET_MS = 1_000;

interface Waiting {
  work: LowPriorityTask;
  /** In `uptimeMs`. */
  latestAt: number;
}

interface Session {
  lastActivityAt: number;
  isAtWork: boolean;
  waiting: Map<string, Waiting>;
  timer: NodeJS.Timeout | undefined;
  running: { control: AbortController; done: Promise<void> } | undefined;
}

export async function startLowPriorityWork({ store, platform, log }: LowPriorityWorkDeps): Promise<LowPriorityWork> {
  const sessions = new Map<StageId, Session>();
  let stopped = false;

  function sessionOf(stageId: StageId): Session {
    const known = sessions.get(stageId);
    if (known !== undefined) return known;
    const session = { lastActivityAt: platform.uptimeMs(), isAtWork: false, waiting: new Map() };
    const created = { ...session, timer: undefined, running: undefined };
    sessions.set(stageId, created);
    return created;
  }

  /** Later activity moves no timer: the due time is computed again when the timer fires. */
  function schedule(stageId: StageId, session: Session): void {
    clearTimeout(session.timer);
    if (stopped || session.running !== undefined) return;
    const next = Math.min(...[...session.waiting.values()].map((one) => dueAt(session, one)));
    if (next === Number.POSITIVE_INFINITY) return;
    session.timer = setTimeout(() => runNext(stageId, session), Math.max(0, next - platform.uptimeMs())).unref();
  }

  function runNext(stageId: StageId, session: Session): void {
    const now = platform.uptimeMs();
    const due = [...session.waiting].find(([, one]) => dueAt(session, one) <= now);
    if (due !== undefined) session.running = begin(stageId, session, ...due);
    else schedule(stageId, session);
  }

  function begin(stageId: StageId, session: Session, name: string, one: Waiting): Session['running'] {
    session.waiting.delete(name);
    const control = new AbortController();
    const done = one
      .work(control.signal)
      .catch((error: unknown) => {
        if (!control.signal.aborted) log.info({ stageId, name, reason: messageOf(error) }, 'low-priority work failed');
        else if (!session.waiting.has(name)) session.waiting.set(name, one);
      })
      .finally(() => {
        session.running = undefined;
        schedule(stageId, session);
      });
    return { control, done };
  }

  function setAtWork(stageId: StageId, isAtWork: boolean): void {
    const session = sessionOf(stageId);
    if (session.isAtWork === isAtWork) return;
    session.isAtWork = isAtWork;
    session.lastActivityAt = platform.uptimeMs();
    if (isAtWork) session.running?.control.abort();
    schedule(stageId, session);
  }

  const isAtWork = (state: SessionState) => isActive(state) || state === 'failed';
  const unlisten = onSessionChange(store, ['state'], ({ stageId, state }) => setAtWork(stageId, isAtWork(state)));
  for (const { stageId, state } of await store.read.sessions.list()) setAtWork(stageId, isAtWork(state));

  return {
    add(stageId, name, work, latestMs = Number.POSITIVE_INFINITY) {
      const session = sessionOf(stageId);
      session.waiting.delete(name); // to the end of the queue
      session.waiting.set(name, { work, latestAt: platform.uptimeMs() + latestMs });
      schedule(stageId, session);
    },
    recordActivity(stageId) {
      sessionOf(stageId).lastActivityAt = platform.uptimeMs();
    },
    async stop() {
      stopped = true;
      unlisten();
      const all = [...sessions.values()];
      for (const { timer, running } of all) {
        clearTimeout(timer);
        running?.control.abort();
      }
      await Promise.all(all.map(({ running }) => running?.done));
    },
  };
}

function dueAt({ isAtWork, lastActivityAt }: Session, { latestAt }: Waiting): number {
  return Math.min(latestAt, isAtWork ? Number.POSITIVE_INFINITY : lastActivityAt + QUIET_MS);
}
