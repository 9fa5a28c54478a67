import type { Channel } from '../../src/core/claude/channel.ts';
import type { SpoolLine } from '../../src/core/claude/frames.ts';

/** A channel whose output the test controls. */
export function createTestChannel() {
  const batches: SpoolLine[][] = [];
  let wake = () => undefined as undefined;
  let ending = false;
  let failure: unknown;
  let end = 0;
  const channel: Channel = {
    async *lines() {
      for (;;) {
        const next = batches.shift();
        if (next !== undefined) yield next;
        else if (failure !== undefined) throw failure;
        else if (ending) return;
        else {
          const { promise, resolve } = Promise.withResolvers<undefined>();
          wake = () => void resolve(undefined) as undefined;
          await promise;
        }
      }
    },
    write: async () => undefined,
    finish: () => {
      ending = true;
      wake();
    },
    close: () => undefined,
  };
  return {
    channel,
    /** Prints these lines in one batch. */
    print(...lines: object[]) {
      batches.push(lines.map((line) => ({ text: JSON.stringify(line), end: ++end })));
      wake();
    },
    breakDown(error: unknown) {
      failure = error;
      wake();
    },
  };
}
