import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { listenForStop } from './platform.ts';

function listen() {
  const source = new EventEmitter();
  const clock = { now: 0 };
  return { source, clock, signals: listenForStop(source, () => clock.now) };
}

it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'])('stops on %s', (event) => {
  const { source, signals } = listen();
  source.emit(event);
  expect([signals.stop.aborted, signals.kill.aborted]).toEqual([true, false]);
});

it('counts the echoes of one press once', () => {
  const { source, clock, signals } = listen();
  source.emit('SIGINT');
  clock.now = 499;
  source.emit('SIGINT');
  expect(signals.kill.aborted).toBe(false);
});

it('ends at once on a second press', () => {
  const { source, clock, signals } = listen();
  source.emit('SIGINT');
  clock.now = 500;
  source.emit('SIGINT');
  expect(signals.kill.aborted).toBe(true);
});

it('does not count the end of the launcher as a second press', () => {
  const { source, clock, signals } = listen();
  source.emit('SIGINT');
  clock.now = 9_999;
  source.emit('disconnect');
  expect(signals.kill.aborted).toBe(false);
});

it("restores the signals' default effect", () => {
  const { source, signals } = listen();
  signals.release();
  expect(source.eventNames()).toEqual([]);
});
