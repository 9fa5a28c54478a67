import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentEvent } from '../../agent/agent-event.ts';
import type { LastingLine } from './ingest-lines.ts';

/** Returns what an MCP server of a conversation said when its start failed; null if nothing is known. */
export type ReadServer = (server: { conversationId: string; name: string }) => Promise<string | null>;

/** The words are logged up to a second after the failure; the beginning of the turn waits for them, but not longer. */
const WAIT_MS = 1_500;
const AGAIN_MS = 100;

async function textOf(read: ReadServer, server: Parameters<ReadServer>[0]): Promise<string | null> {
  for (let waited = 0; waited < WAIT_MS; waited += AGAIN_MS) {
    const said = await read(server).catch(() => null);
    if (said !== null) return said;
    await sleep(AGAIN_MS);
  }
  return null;
}

type Started = Extract<AgentEvent, { type: 'turn-started' }>;

const failedIn = ({ mcpServers = [] }: Started) => mcpServers.filter(({ state }) => state === 'failed');

/** Adds to each turn what servers said themselves that failed at their start. */
export function createServerText(read: ReadServer) {
  /** Those that were looked up: each beginning of a turn lists all servers. */
  const known = new Set<string>();

  async function withText(event: Started, conversationId: string): Promise<Started> {
    const fresh = failedIn(event).filter(({ name }) => !known.has(name));
    for (const { name } of fresh) known.add(name);
    const text = fresh.map(async ({ name }) => [name, await textOf(read, { conversationId, name })] as const);
    const said = (await Promise.all(text)).filter((pair): pair is [string, string] => pair[1] !== null);
    return { ...event, mcpText: Object.fromEntries(said) };
  }

  return {
    /** Whether a turn begins without a server that failed. */
    isDue: (lines: readonly LastingLine[]): boolean =>
      lines.some(({ events }) => events.some((event) => event.type === 'turn-started' && failedIn(event).length > 0)),
    /** Resolves with the lines to store. The event before the beginning of a turn names its conversation. */
    add: (lines: readonly LastingLine[]): Promise<LastingLine[]> =>
      Promise.all(
        lines.map(async (line) => {
          const conversation = line.events.find((event) => event.type === 'conversation');
          if (conversation === undefined) return line;
          const events = line.events.map((event) =>
            event.type === 'turn-started' ? withText(event, conversation.sessionId) : event,
          );
          return { ...line, events: await Promise.all(events) };
        }),
      ),
  };
}
