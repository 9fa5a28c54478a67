import { create } from 'zustand';

const TICK_MS = 5_000;

/** The page's clock: one for all relative times, so that they change together. */
const useClock = create(() => ({ now: Date.now() }));

/** Starts the clock. Returns how to stop it. */
export function startClock(): () => void {
  const timer = setInterval(() => useClock.setState({ now: Date.now() }), TICK_MS);
  return () => clearInterval(timer);
}

/** The current time in milliseconds, updated every five seconds. */
export const useNow = (): number => useClock(({ now }) => now);
