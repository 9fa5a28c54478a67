import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { PATIENCE_MS } from '../lib/until-delivered.ts';
import { watchLongAbsence } from './start-stream.ts';
import { canAnswer, canCommand, createStreamStore } from './stream-store.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watched() {
  const store = createStreamStore();
  onTestFinished(watchLongAbsence(store));
  return store;
}

it('accepts answers during a short absence, and again when Callboard is back', () => {
  const store = watched();
  store.setState({ connection: 'lost' });
  vi.advanceTimersByTime(PATIENCE_MS - 1);
  expect([canCommand(store.getState()), canAnswer(store.getState())]).toEqual([false, true]);
  vi.advanceTimersByTime(1);
  expect(canAnswer(store.getState())).toBe(false);
  store.setState({ connection: 'open' });
  expect(canAnswer(store.getState())).toBe(true);
});

it('measures each absence from its beginning, whatever is missing', () => {
  const store = watched();
  store.setState({ connection: 'lost' });
  vi.advanceTimersByTime(PATIENCE_MS / 2);
  store.setState({ connection: 'open', orchestrator: 'unreachable' });
  vi.advanceTimersByTime(PATIENCE_MS / 2);
  expect(canAnswer(store.getState())).toBe(false);
  store.setState({ orchestrator: 'ready' });
  store.setState({ orchestrator: 'unreachable' });
  vi.advanceTimersByTime(PATIENCE_MS / 2);
  expect(canAnswer(store.getState())).toBe(true);
});

it('accepts no answer while logged out', () => {
  const store = watched();
  store.setState({ loggedOut: 'ended' });
  expect(canAnswer(store.getState())).toBe(false);
});
