import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { setSilent, type Waits, withoutHanging } from './hung-requests.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  setSilent(false);
  vi.useRealTimers();
});

/** Requests over a way that swallows them until it is back. */
function swallowing() {
  const asked: string[] = [];
  const open = new Set<string>();
  const ended: string[] = [];
  let isBack = false;
  const ask = (name: string, waits: Partial<Waits> = {}) => {
    const send = (signal: AbortSignal) => {
      asked.push(name);
      if (isBack) return Promise.resolve(name);
      open.add(name);
      return new Promise<string>((_, reject) => {
        signal.addEventListener('abort', () => {
          open.delete(name);
          reject(signal.reason);
        });
      });
    };
    withoutHanging(send, { isRead: true, unanswered: () => new Error('unanswered'), ...waits }).then(
      (text) => ended.push(text),
      (error: unknown) => ended.push(`${name}: ${String(error)}`),
    );
  };
  const back = () => {
    isBack = true;
  };
  return { ask, asked, open: () => [...open], ended, back };
}

const READS = ['a', 'b', 'c', 'd', 'e', 'f'];

it('gives up what hangs once nothing comes from the server, and asks one at a time until something does', async () => {
  const { ask, open, ended, back } = swallowing();
  for (const name of READS) ask(name);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(open()).toEqual(READS);
  setSilent(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(open()).toHaveLength(1);
  const inTurn = new Set(open());
  for (let s = 0; s < 20; s += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    for (const name of open()) inTurn.add(name);
    expect(open().length).toBeLessThan(2);
  }
  expect([...inTurn].toSorted()).toEqual(READS);
  back();
  setSilent(false);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(ended.toSorted()).toEqual(READS);
});

it('does not send a command again by itself: who sent it knows under which key', async () => {
  const { ask, asked, ended } = swallowing();
  ask('allow', { isRead: false });
  await vi.advanceTimersByTimeAsync(2_000);
  setSilent(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([asked, ended]).toEqual([['allow'], ['allow: Error: unanswered']]);
});

it('leaves large uploads alone, and what was sent a moment ago', async () => {
  const { ask, open } = swallowing();
  ask('upload', { isRead: false, isLarge: true });
  await vi.advanceTimersByTimeAsync(2_000);
  ask('young', { isRead: false });
  setSilent(true);
  ask('last', { isRead: false, isLast: true });
  await vi.advanceTimersByTimeAsync(1);
  expect(open()).toEqual(['upload', 'young', 'last']);
});

it('ends a wait for a place with its signal, and a request with its limit', async () => {
  const { ask, asked, ended } = swallowing();
  ask('slow', { limitMs: 30_000 });
  await vi.advanceTimersByTimeAsync(30_000);
  expect(ended).toEqual(['slow: Error: unanswered']);
  setSilent(true);
  ask('first', { isRead: false });
  const over = new AbortController();
  ask('second', { isRead: false, signal: over.signal });
  over.abort(new Error('enough'));
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(['slow: Error: unanswered', 'second: Error: enough']);
  expect(asked).toEqual(['slow', 'first']);
});
