/** Stops the started parts once, in reverse order. If one fails to stop, the others are stopped nevertheless. */
export interface Lifecycle {
  /** Registers how to stop a part. Call it as soon as the part exists. */
  onStop(part: string, stop: () => void | Promise<void>): void;
  /** Stops all parts, the last registered first. Every call returns the same promise, which never rejects. */
  stop(): Promise<void>;
}

/** A part that takes longer to stop is logged. */
const SLOW_MS = 10_000;

/** @param log gets the parts that failed to stop, and those that take long */
export function createLifecycle(log: { error(details: object, message: string): void }): Lifecycle {
  const parts: { part: string; stop: () => void | Promise<void> }[] = [];
  let stopping: Promise<void> | undefined;
  async function stopAll(): Promise<void> {
    for (const { part, stop } of parts.toReversed()) {
      const slow = setTimeout(() => log.error({ part }, 'still stopping'), SLOW_MS).unref();
      try {
        await stop();
      } catch (error) {
        log.error({ err: error, part }, 'stop failed');
      } finally {
        clearTimeout(slow);
      }
    }
  }
  return {
    onStop: (part, stop) => {
      parts.push({ part, stop });
    },
    stop: () => {
      stopping ??= stopAll();
      return stopping;
    },
  };
}
