import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createLifecycle } from './lifecycle.ts';

/** A logger that keeps what it was told. */
function listeningLog() {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

it('stops the parts one after another, the last one first', async () => {
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

it('goes on after a part that cannot be stopped, and says which it was', async () => {
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

it('stops once, and gives every caller the same end', async () => {
  const { log } = listeningLog();
  const life = createLifecycle(log);
  let stops = 0;
  life.onStop('part', () => void stops++);
  expect(life.stop()).toBe(life.stop());
  await life.stop();
  expect(stops).toBe(1);
});
