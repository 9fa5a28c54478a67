import { monitorEventLoopDelay } from 'node:perf_hooks';
import { LOOP_DELAY_ROLL_MS, type LoopDelay, watchLoopDelay } from '@callboard/contract';

/** Watches the event loop of this process. */
export function watchOwnLoop(): { read: () => LoopDelay; stop: () => void } {
  const delays = watchLoopDelay(monitorEventLoopDelay);
  const rolling = setInterval(delays.roll, LOOP_DELAY_ROLL_MS).unref();
  return {
    read: delays.read,
    stop() {
      clearInterval(rolling);
      delays.stop();
    },
  };
}
