import { createServer } from 'node:net';
import type { Flag, Given } from '../command-line/flags.ts';
import type { Platform } from '../edges.ts';
import { parseStartOptions, type StartOptions, startFlags } from '../start-options.ts';
import type { Command } from './command.ts';
import { requireGit } from './start.ts';

const NAMES: readonly string[] = ['port', 'host', 'orchestrator-port', 'claude', 'open', 'max-parallel'];

/** The options of `start` that make sense for a temporary board. */
const flags: readonly Flag[] = startFlags.filter(({ name }) => NAMES.includes(name));

/** `callboard demo`: a sample board on a scripted model that leaves nothing behind. */
export const demo: Command = {
  name: 'demo',
  summary: 'Shows a sample board with a scripted model: no account, no network, leaves nothing behind.',
  flags,
  run: async ({ given, platform }) => {
    const options = await parseOptions(given, platform);
    await requireGit(platform);
    const { runDemo } = await import('../demo/run-demo.ts'); // loaded here because no other command needs it
    const signals = platform.listenForStop();
    try {
      await runDemo(options, platform, signals);
      platform.err('callboard: the demo has ended and left nothing behind.');
      return 0;
    } finally {
      signals.release();
    }
  },
};

/** Returns the options of `start` with free ports, so that the demo works even if another program uses the default ones. */
async function parseOptions(given: Given, platform: Platform): Promise<StartOptions> {
  const options = parseStartOptions(given, platform);
  const { host, port, orchestratorPort } = options;
  const [isFree, isOtherFree] = await Promise.all([canListen(host, port), canListen(host, orchestratorPort)]);
  if (!isFree) platform.err(`callboard: port ${port} is taken; the demo takes a free one.`);
  if (!isOtherFree) platform.err(`callboard: port ${orchestratorPort} is taken; the demo takes a free one.`);
  return { ...options, port: isFree ? port : 0, orchestratorPort: isOtherFree ? orchestratorPort : 0 };
}

async function canListen(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  return promise;
}
