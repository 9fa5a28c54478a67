import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCoalescingWorker } from './async.ts';

const fail = (error: unknown) => {
  throw error;
};
const tick = () => Promise.resolve();

describe('a coalescing worker', () => {
  it('runs exactly one more pass for any number of wake-ups during a pass', async () => {
    let passes = 0;
    const gate = Promise.withResolvers<void>();
    const worker = createCoalescingWorker(async () => {
      if (++passes === 1) await gate.promise;
    }, fail);
    worker.schedule();
    for (let n = 0; n < 5; n++) worker.schedule();
    expect(passes).toBe(1);
    gate.resolve();
    await worker.drain();
    expect(passes).toBe(2);
  });

  it('processes all work whenever it is scheduled, and never runs two passes at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(8), fc.nat(4)), { maxLength: 20 }), fc.nat(6), async (adds, slow) => {
        const todo = new Set<number>();
        const done: number[] = [];
        let running = 0;
        const worker = createCoalescingWorker(async () => {
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
          worker.schedule();
        }
        await worker.drain();
        expect(todo).toEqual(new Set());
        expect(done.sort((a, b) => a - b)).toEqual(adds.map((_add, index) => index));
      }),
    );
  });

  it('runs again after A wake-up from its own work', async () => {
    let left = 3;
    const worker = createCoalescingWorker(async () => {
      if (--left > 0) worker.schedule();
    }, fail);
    worker.schedule();
    await worker.drain();
    expect(left).toBe(0);
  });

  it('reports a failed pass, and runs again when it is scheduled again', async () => {
    const errors: unknown[] = [];
    let passes = 0;
    const worker = createCoalescingWorker(
      async () => {
        if (++passes === 1) throw new Error('disk full');
      },
      (error) => errors.push(error),
    );
    worker.schedule();
    await worker.drain();
    expect(errors).toEqual([new Error('disk full')]);
    worker.schedule();
    await worker.drain();
    expect(passes).toBe(2);
    expect(errors).toHaveLength(1);
  });

  it('does not lose A wake-up that comes during a failing pass', async () => {
    const gate = Promise.withResolvers<void>();
    let passes = 0;
    const worker = createCoalescingWorker(
      async () => {
        if (++passes > 1) return;
        await gate.promise;
        throw new Error('disk full');
      },
      () => undefined,
    );
    worker.schedule();
    worker.schedule();
    gate.resolve();
    await worker.drain();
    expect(passes).toBe(2);
  });

  it('finishes the running pass when stopped, and starts no other', async () => {
    const gate = Promise.withResolvers<void>();
    let passes = 0;
    const worker = createCoalescingWorker(async () => {
      passes++;
      await gate.promise;
    }, fail);
    worker.schedule();
    worker.schedule();
    let hasStopped = false;
    const stopped = worker.stop().then(() => {
      hasStopped = true;
    });
    await tick();
    expect(hasStopped).toBe(false);
    gate.resolve();
    await stopped;
    worker.schedule();
    await worker.drain();
    expect(passes).toBe(1);
  });

  it('drains at once when there is nothing to do', async () => {
    await createCoalescingWorker(async () => undefined, fail).drain();
  });
});
