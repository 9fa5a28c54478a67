import { describe, expect, it } from 'vitest';
import { settlesWithin } from './settles-within.ts';
import { createBackoff, orAborted, pause, untilAborted } from './waits.ts';

const never = new Promise<never>(() => undefined);
const aborted = AbortSignal.abort(new Error('over'));

describe('orAborted', () => {
  it('settles as the promise does', async () => {
    const { signal } = new AbortController();
    expect(await orAborted(Promise.resolve(1), signal)).toBe(1);
    expect(await orAborted(Promise.resolve(1), undefined)).toBe(1);
    await expect(orAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  });

  it('rejects with the reason of a signal that aborts first', async () => {
    const abort = new AbortController();
    const result = orAborted(never, abort.signal);
    abort.abort(new Error('over'));
    await expect(result).rejects.toThrow('over');
  });

  it('rejects when the signal has aborted already, even if the promise has settled', async () => {
    await expect(orAborted(Promise.resolve(1), aborted)).rejects.toThrow('over');
    await expect(orAborted(Promise.reject(new Error('no')), aborted)).rejects.toThrow('over');
  });
});

it('untilAborted resolves when the signal aborts, or at once if it already has', async () => {
  const abort = new AbortController();
  const waited = untilAborted(abort.signal).then(() => true);
  expect(await Promise.race([waited, Promise.resolve(false)])).toBe(false);
  abort.abort();
  expect(await waited).toBe(true);
  await untilAborted(abort.signal);
});

it('pause resolves after its time, or when the signal aborts', async () => {
  await pause(1, new AbortController().signal);
  await pause(3_600_000, aborted);
});

describe('settlesWithin', () => {
  it('resolves with true for a promise that settles, whether it resolves or rejects', async () => {
    expect(await settlesWithin(Promise.resolve(1), 60_000)).toBe(true);
    expect(await settlesWithin(Promise.reject(new Error('no')), 60_000)).toBe(true);
  });

  it('resolves with false for a promise that does not settle in time', async () => {
    expect(await settlesWithin(never, 1)).toBe(false);
  });
});

describe('a backoff', () => {
  it('doubles its delay up to the limit, and begins again after a reset', () => {
    const backoff = createBackoff({ firstMs: 100, maxMs: 1_000 });
    expect(Array.from({ length: 6 }, () => backoff.next())).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    backoff.reset();
    expect(backoff.next()).toBe(100);
  });

  it('takes another limit for one delay, also a higher one', () => {
    const backoff = createBackoff({ firstMs: 400, maxMs: 500 });
    expect([backoff.next(2_000), backoff.next(2_000), backoff.next(2_000), backoff.next()]).toEqual([
      400, 800, 1_600, 500,
    ]);
  });

  it('never waits longer than the limit, not even at first', () => {
    expect(createBackoff({ firstMs: 100, maxMs: 20 }).next()).toBe(20);
  });

  it('ends its wait when the signal aborts', async () => {
    await createBackoff({ firstMs: 3_600_000, maxMs: 3_600_000 }).wait(aborted);
  });
});
