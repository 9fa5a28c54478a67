import { demoFlags, parseDemoOptions } from '../demo/demo-options.ts';
import type { Command } from './command.ts';

/** `callboard demo`: a board to try out, that leaves nothing behind. */
export const demo: Command = {
  name: 'demo',
  summary: 'A sample board on a scripted model, to try out: no account, no network, and nothing stays.',
  flags: demoFlags,
  run: async ({ given, edges }) => {
    const options = await parseDemoOptions(given, edges);
    const { runDemo } = await import('../demo/run-demo.ts'); // no other command has to load all of it
    const signals = edges.listenForStop();
    try {
      await runDemo(options, edges, signals);
      edges.err('callboard: the demo has ended, and nothing of it is left.');
      return 0;
    } finally {
      signals.release();
    }
  },
};
