const PAUSE_MS = 400;

type Save = (options: { keepalive: boolean }) => Promise<void>;

/** Saves drafts after a pause in typing, one save at a time and the newest last; saves at once when the page is left. */
export function createDraftSaver(pauseMs = PAUSE_MS) {
  const planned = new Map<string, { save: Save; timer: ReturnType<typeof setTimeout> }>();
  const running = new Map<string, Promise<void>>();

  function run(key: string, save: Save, keepalive: boolean): void {
    const before = keepalive ? Promise.resolve() : (running.get(key) ?? Promise.resolve());
    // A draft that could not be saved stays in this tab; the next change retries.
    const next = before.then(() => save({ keepalive })).catch(() => undefined);
    running.set(key, next);
    void next.finally(() => {
      if (running.get(key) === next) running.delete(key);
    });
  }

  function cancel(key: string): void {
    clearTimeout(planned.get(key)?.timer);
    planned.delete(key);
  }

  return {
    plan(key: string, save: Save): void {
      cancel(key);
      const timer = setTimeout(() => {
        planned.delete(key);
        run(key, save, false);
      }, pauseMs);
      planned.set(key, { save, timer });
    },
    now(key: string, save: Save): void {
      cancel(key);
      run(key, save, false);
    },
    flush(): void {
      for (const [key, { save }] of [...planned]) {
        cancel(key);
        run(key, save, true);
      }
    },
  };
}
