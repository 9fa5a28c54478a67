import type { Logger } from './logger.ts';

/** Stops what was started, in reverse order, once. One step that fails does not skip the others. */
export interface Lifecycle {
  /** Registers how to stop a part, the moment the part exists. */
  onStop(name: string, stop: () => void | Promise<void>): void;
  /** Runs the steps, last registered first; every caller gets the same promise. */
  stop(): Promise<void>;
}

export function createLifecycle(log: Logger): Lifecycle {
  const steps: { name: string; stop: () => void | Promise<void> }[] = [];
  let stopping: Promise<void> | undefined;
  async function stopAll() {
    for (const { name, stop } of steps.toReversed()) {
      try {
        await stop();
      } catch (error) {
        log.error({ err: error, part: name }, 'stop failed');
      }
    }
  }
  return {
    onStop: (name, stop) => {
      steps.push({ name, stop });
    },
    stop: () => {
      stopping ??= stopAll();
      return stopping;
    },
  };
}
