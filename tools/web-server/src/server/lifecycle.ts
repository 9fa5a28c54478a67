import type { FastifyBaseLogger } from 'fastify';

/** Remembers how to stop each part, and stops them in reverse, once, whatever one of them does. */
export function createLifecycle(log: FastifyBaseLogger) {
  const steps: { name: string; stop: () => void | Promise<void> }[] = [];
  let stopping: Promise<void> | undefined;

  async function stopAll(): Promise<void> {
    for (const { name, stop } of steps.toReversed()) {
      try {
        await stop();
      } catch (error) {
        log.error({ err: error, name }, 'stop failed');
      }
    }
  }

  return {
    onStop(name: string, stop: () => void | Promise<void>): void {
      steps.push({ name, stop });
    },
    /** Never rejects; every caller gets the same promise. */
    stop(): Promise<void> {
      stopping ??= stopAll();
      return stopping;
    },
  };
}
