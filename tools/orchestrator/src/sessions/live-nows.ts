import type { LiveNow, SessionNowUpdate, StageId } from '@callboard/contract';

/** Tells at intervals what Claude does in each session, finer than the store knows. Nothing of it is stored. */
export interface LiveNows {
  /** It may have changed for a stage; `read` is called when it is told. */
  changed(stageId: StageId, read: () => LiveNow | null): void;
  /** Returns what was told last; null if the session's own `now` says it all. */
  of(stageId: StageId): LiveNow | null;
  stop(): void;
}

/**
 * Each session is told of at most once in `everyMs`, all that changed together: that wakes the web server once, however
 * many sessions write. The first change after a silence is told at once.
 */
export function createLiveNows(everyMs: number, notify: (update: SessionNowUpdate) => void): LiveNows {
  const changed = new Map<StageId, () => LiveNow | null>();
  const reported = new Map<StageId, LiveNow>();
  let timer: NodeJS.Timeout | undefined;

  function notifyAll(): void {
    const all = [...changed];
    changed.clear();
    timer = all.length === 0 ? undefined : setTimeout(notifyAll, everyMs).unref();
    for (const [stageId, read] of all) {
      const now = read();
      const before = reported.get(stageId) ?? null;
      if (isSame(now, before)) continue;
      if (now === null) reported.delete(stageId);
      else reported.set(stageId, now);
      notify({ stageId, now });
    }
  }

  return {
    changed(stageId, read) {
      changed.set(stageId, read);
      timer ??= setTimeout(notifyAll, 0).unref();
    },
    of: (stageId) => reported.get(stageId) ?? null,
    stop: () => clearTimeout(timer),
  };
}

function isSame(a: LiveNow | null, b: LiveNow | null): boolean {
  if (a?.kind === 'writing') return b?.kind === 'writing' && a.text === b.text;
  if (a?.kind === 'preparing') return b?.kind === 'preparing' && a.toolName === b.toolName;
  return b === null;
}
