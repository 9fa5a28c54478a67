import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { listenForStop } from './stop-signals.ts';

function listen() {
  const source = new EventEmitter();
  const clock = { now: 0 };
  return { source, clock, signals: listenForStop(source, () => clock.now) };
}

it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'])('takes %s as a wish to stop', (event) => {
  const { source, signals } = listen();
  source.emit(event);
  expect([signals.stop.aborted, signals.kill.aborted]).toEqual([true, false]);
});

it('takes echoes of one press as one press', () => {
  const { source, clock, signals } = listen();
  source.emit('SIGINT');
  clock.now = 499;
  source.emit('SIGINT');
  expect(signals.kill.aborted).toBe(false);
});

it('takes a second press as a wish to end at once', () => {
  const { source, clock, signals } = listen();
  source.emit('SIGINT');
  clock.now = 500;
  source.emit('SIGINT');
  expect(signals.kill.aborted).toBe(true);
});

it('does not take the end of the launcher as a second press', () => {
  const { source, clock, signals } = listen();
  source.emit('SIGINT');
  clock.now = 9_999;
  source.emit('disconnect');
  expect(signals.kill.aborted).toBe(false);
});

it('gives the signals back', () => {
  const { source, signals } = listen();
  signals.release();
  expect(source.eventNames()).toEqual([]);
});
