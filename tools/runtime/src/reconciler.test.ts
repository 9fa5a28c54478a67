import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createReconciler, type Timer } from './reconciler.ts';

const fail = (error: unknown) => {
  throw error;
};
const tick = () => Promise.resolve();

describe('a reconciler', () => {
  it('runs exactly one more pass for any number of wake-ups during a pass', async () => {
    let passes = 0;
    const gate = Promise.withResolvers<void>();
    const reconciler = createReconciler(async () => {
      if (++passes === 1) await gate.promise;
    }, fail);
    reconciler.schedule();
    for (let n = 0; n < 5; n++) reconciler.schedule();
    expect(passes).toBe(1);
    gate.resolve();
    await reconciler.drain();
    expect(passes).toBe(2);
  });

  it('processes all work whenever it is scheduled, and never runs two passes at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(8), fc.nat(4)), { maxLength: 20 }), fc.nat(6), async (adds, slow) => {
        const todo = new Set<number>();
        const done: number[] = [];
        let running = 0;
        const reconciler = createReconciler(async () => {
          expect(++running).toBe(1);
          const seen = [...todo];
          for (let n = 0; n < slow; n++) await tick();
          for (const item of seen) {
            todo.delete(item);
            done.push(item);
          }
          running--;
        }, fail);
        for (const [index, [wait]] of adds.entries()) {
          for (let n = 0; n < wait; n++) await tick();
          todo.add(index);
          reconciler.schedule();
        }
        await reconciler.drain();
        expect(todo).toEqual(new Set());
        expect(done.sort((a, b) => a - b)).toEqual(adds.map((_add, index) => index));
      }),
    );
  });

  it('runs again after a wake-up from its own work', async () => {
    let left = 3;
    const reconciler = createReconciler(async () => {
      if (--left > 0) reconciler.schedule();
    }, fail);
    reconciler.schedule();
    await reconciler.drain();
    expect(left).toBe(0);
  });

  it('reports a failed pass, and runs again when it is scheduled again', async () => {
    const errors: unknown[] = [];
    let passes = 0;
    const reconciler = createReconciler(
      async () => {
        if (++passes === 1) throw new Error('disk full');
      },
      (error) => errors.push(error),
    );
    reconciler.schedule();
    await reconciler.drain();
    expect(errors).toEqual([new Error('disk full')]);
    reconciler.schedule();
    await reconciler.drain();
    expect(passes).toBe(2);
    expect(errors).toHaveLength(1);
  });

  it('does not lose a wake-up that comes during a failing pass', async () => {
    const gate = Promise.withResolvers<void>();
    let passes = 0;
    const reconciler = createReconciler(
      async () => {
        if (++passes > 1) return;
        await gate.promise;
        throw new Error('disk full');
      },
      () => undefined,
    );
    reconciler.schedule();
    reconciler.schedule();
    gate.resolve();
    await reconciler.drain();
    expect(passes).toBe(2);
  });

  it('finishes the running pass when stopped, and starts no other', async () => {
    const gate = Promise.withResolvers<void>();
    let passes = 0;
    const reconciler = createReconciler(async () => {
      passes++;
      await gate.promise;
    }, fail);
    reconciler.schedule();
    reconciler.schedule();
    let hasStopped = false;
    const stopped = reconciler.stop().then(() => {
      hasStopped = true;
    });
    await tick();
    expect(hasStopped).toBe(false);
    gate.resolve();
    await stopped;
    reconciler.schedule();
    await reconciler.drain();
    expect(passes).toBe(1);
  });

  it('drains at once when there is nothing to do', async () => {
    await createReconciler(async () => undefined, fail).drain();
  });
});

/** Timers that a test lets pass. */
function fakeTimers() {
  const planned = new Map<() => void, number>();
  const timer: Timer = (due, inMs) => {
    planned.set(due, inMs);
    return () => void planned.delete(due);
  };
  return {
    timer,
    /** The delays that are waited for. */
    delays: () => [...planned.values()],
    fire() {
      const due = [...planned.keys()];
      planned.clear();
      for (const call of due) call();
    },
  };
}

function setUp(options: { everyMs?: number } = {}) {
  const timers = fakeTimers();
  const run = vi.fn(async () => undefined);
  const reconciler = createReconciler(run, fail, { ...options, timer: timers.timer });
  return { ...timers, run, reconciler };
}

describe('the timer of a reconciler', () => {
  it('runs every so often, counted from the beginning of the last run', async () => {
    const { reconciler, run, delays, fire } = setUp({ everyMs: 5_000 });
    expect(delays()).toEqual([5_000]);
    expect(run).not.toHaveBeenCalled();
    fire();
    await reconciler.drain();
    reconciler.schedule();
    await reconciler.drain();
    expect(run).toHaveBeenCalledTimes(2);
    expect(delays()).toEqual([5_000]);
  });

  it('goes on after a run that failed', async () => {
    const { timer, delays, fire } = fakeTimers();
    const errors: unknown[] = [];
    const reconciler = createReconciler(
      () => Promise.reject(new Error('disk full')),
      (error) => errors.push(error),
      { everyMs: 1_000, timer },
    );
    fire();
    await reconciler.drain();
    expect(errors).toHaveLength(1);
    expect(delays()).toEqual([1_000]);
  });

  it('keeps the sooner one of two planned runs', () => {
    const { reconciler, delays } = setUp();
    reconciler.scheduleIn(30_000);
    reconciler.scheduleIn(1_000);
    reconciler.scheduleIn(5_000);
    expect(delays()).toEqual([1_000]);
  });

  it('drops a planned run when another one begins, and keeps what that one plans', async () => {
    const { timer, delays } = fakeTimers();
    let runs = 0;
    const reconciler = createReconciler(
      async () => {
        if (++runs === 1) reconciler.scheduleIn(60_000);
      },
      fail,
      { timer },
    );
    reconciler.scheduleIn(1_000);
    reconciler.schedule();
    expect(delays()).toEqual([60_000]);
    await reconciler.drain();
    expect(delays()).toEqual([60_000]);
    reconciler.schedule();
    await reconciler.drain();
    expect(delays()).toEqual([]);
  });

  it('runs once more for a timer that fires during a run', async () => {
    const { timer, fire } = fakeTimers();
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const reconciler = createReconciler(() => (++runs === 1 ? gate.promise : Promise.resolve()), fail, {
      everyMs: 1_000,
      timer,
    });
    reconciler.schedule();
    fire();
    expect(runs).toBe(1);
    gate.resolve();
    await reconciler.drain();
    expect(runs).toBe(2);
  });

  it('leaves no timer behind when it is stopped, even by a run that ends later', async () => {
    const { timer, delays } = fakeTimers();
    const gate = Promise.withResolvers<void>();
    const reconciler = createReconciler(
      async () => {
        await gate.promise;
        reconciler.scheduleIn(1_000);
      },
      fail,
      { everyMs: 5_000, timer },
    );
    reconciler.schedule();
    const stopped = reconciler.stop();
    expect(delays()).toEqual([]);
    gate.resolve();
    await stopped;
    expect(delays()).toEqual([]);
  });
});

it('runs on events until it is stopped', async () => {
  const listeners = new Set<() => void>();
  const run = vi.fn(async () => undefined);
  const reconciler = createReconciler(run, fail, {
    on: (schedule) => {
      listeners.add(schedule);
      return [() => listeners.delete(schedule)];
    },
  });
  for (const listener of listeners) listener();
  await reconciler.drain();
  expect(run).toHaveBeenCalledTimes(1);
  await reconciler.stop();
  expect(listeners.size).toBe(0);
});

it('does not begin a second run from within the first', async () => {
  let running = 0;
  let most = 0;
  let left = 3;
  const reconciler = createReconciler(async () => {
    most = Math.max(most, ++running);
    if (--left > 0) reconciler.schedule();
    await tick();
    running--;
  }, fail);
  reconciler.schedule();
  await reconciler.drain();
  expect([left, most]).toEqual([0, 1]);
});
