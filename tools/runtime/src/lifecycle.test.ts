import { expect, it, onTestFinished, vi } from 'vitest';
import { createLifecycle } from './lifecycle.ts';

/** A logger that keeps the details of each error. */
function listeningLog() {
  const lines: { part?: string }[] = [];
  return { lines, log: { error: (details: { part?: string }) => void lines.push(details) } };
}

it('stops the parts one after another, the last registered first', async () => {
  const { log } = listeningLog();
  const life = createLifecycle(log);
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  life.onStop('store', () => void seen.push('store'));
  life.onStop('gateway', async () => {
    seen.push('gateway stops');
    await first.promise;
    seen.push('gateway stopped');
  });
  const stopped = life.stop();
  expect(seen).toEqual(['gateway stops']);
  first.resolve();
  await stopped;
  expect(seen).toEqual(['gateway stops', 'gateway stopped', 'store']);
});

it('stops the other parts when one fails to stop, and logs which one did', async () => {
  const { log, lines } = listeningLog();
  const life = createLifecycle(log);
  const seen: string[] = [];
  life.onStop('lock', () => void seen.push('lock'));
  life.onStop('store', () => Promise.reject(new Error('disk full')));
  life.onStop('gateway', () => {
    throw new Error('odd');
  });
  await life.stop();
  expect(seen).toEqual(['lock']);
  expect(lines.map((line) => line.part)).toEqual(['gateway', 'store']);
});

it('stops once: every call returns the same promise', async () => {
  const { log } = listeningLog();
  const life = createLifecycle(log);
  let stops = 0;
  life.onStop('part', () => void stops++);
  expect(life.stop()).toBe(life.stop());
  await life.stop();
  expect(stops).toBe(1);
});

it('logs which part takes long to stop, and goes on waiting for it', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { log, lines } = listeningLog();
  const life = createLifecycle(log);
  const slow = Promise.withResolvers<void>();
  life.onStop('store', () => slow.promise);
  life.onStop('gateway', () => undefined);
  const stopped = life.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lines.map(({ part }) => part)).toEqual(['store']);
  slow.resolve();
  await stopped;
});
