import { stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../platform/runtime.ts';
import { retryUntilStored, type Store, type Tx } from '../../store/store.ts';
import type { AgentEvent, Ask, LastingEvent } from '../agent-event.ts';
import { applyEvent } from '../session/apply-agent-event.ts';
import { openChange, saveChange } from '../session/change-session.ts';
import { refuse } from '../session/incoming-requests.ts';
import { addRaw, type EventContext } from '../session/session-change.ts';

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

/** The events of a line of the spool, without those that are only passed on live, and the offset behind it. */
export interface LastingLine {
  events: LastingEvent[];
  end: number;
}

export interface IngestDeps {
  store: Store;
  log: Logger;
  context: Omit<EventContext, 'tx' | 'change'>;
  stageId: Parameters<typeof openChange>[1];
  signal: AbortSignal;
  /** Stores in the same transaction which rows were written to the process since. */
  markIn: (tx: Tx) => Promise<void>;
}

/**
 * Stores lines together with the spool offset behind them, in one transaction. If the store fails (on a full disk, for
 * example), retries until it works or the signal aborts; the output stays in the spool meanwhile. A line that cannot be
 * applied is kept and shown raw, so that an unforeseen line does not stop a session.
 */
export async function ingestLines(deps: IngestDeps, lines: readonly LastingLine[]): Promise<void> {
  try {
    await retryUntilStored(deps, (tx) => applyLines(tx, deps, lines), { batch: true, stage: deps.stageId });
  } catch (error) {
    const [line, ...others] = lines;
    if (line === undefined || deps.signal.aborted) throw error;
    if (others.length === 0) return retainUnapplied(deps, line, error);
    for (const each of lines) await ingestLines(deps, [each]);
  }
}

async function retainUnapplied(deps: IngestDeps, line: LastingLine, cause: unknown): Promise<void> {
  const types = line.events.map(({ type }) => type);
  deps.log.error({ err: cause, types }, 'applying a line failed; keeping it raw');
  await retryUntilStored(deps, (tx) => storeRaw(tx, deps, line), { sync: 'later', stage: deps.stageId });
}

async function applyLines(tx: Tx, deps: IngestDeps, lines: readonly LastingLine[]): Promise<void> {
  const { context, stageId } = deps;
  await deps.markIn(tx);
  const events = lines.flatMap((line) => line.events);
  if (events.length > 0) {
    const change = await openChange(tx, stageId);
    for (const event of events) await applyEvent({ ...context, tx, change }, event);
    await saveChange(tx, change);
  }
  await tx.launches.setOffset(context.launchId, lines.at(-1)?.end ?? 0);
}

async function storeRaw(tx: Tx, deps: IngestDeps, { events, end }: LastingLine): Promise<void> {
  const { context, stageId } = deps;
  await deps.markIn(tx);
  const change = await openChange(tx, stageId);
  for (const raw of events) {
    addRaw(change, tx.now, raw);
    // Nobody will be asked, so the CLI must not wait.
    if (raw.type === 'asked') {
      const asked = { requestId: raw.requestId, subtype: raw.ask.toolName, permissionFor: raw.ask.toolName };
      await refuse({ ...context, tx, change }, asked);
    }
  }
  await saveChange(tx, change);
  await tx.launches.setOffset(context.launchId, end);
}

/** How long a request waits at most for the file system, for example for a network drive that does not answer. */
const WRITTEN_FILES_WAIT_MS = 100;

type Asked = LastingLine['events'][number];
const isWrite = (event: Asked): boolean => event.type === 'asked' && event.ask.toolName === 'Write';

/** Whether there is a file to look at. */
export const asksToWrite = (lines: readonly LastingLine[]): boolean => lines.some(({ events }) => events.some(isWrite));

/**
 * Looks whether the file of each `Write` that is asked for exists, before the request is stored: later nobody could tell what a
 * person was shown. A request whose file cannot be looked at in time says nothing about it.
 */
export async function inspectFiles(lines: readonly LastingLine[], worktree: string | null): Promise<LastingLine[]> {
  return Promise.all(
    lines.map(async (line) => {
      if (!line.events.some(isWrite)) return line;
      const events = line.events.map(async (event) =>
        event.type === 'asked' ? { ...event, ask: await withFile(event.ask, worktree) } : event,
      );
      return { ...line, events: await Promise.all(events) };
    }),
  );
}

async function withFile(ask: Ask, worktree: string | null): Promise<Ask> {
  const { file_path: path } = ask.input;
  if (ask.toolName !== 'Write' || typeof path !== 'string' || path === '') return ask;
  if (!isAbsolute(path) && worktree === null) return ask;
  const fileExists = await inTime(isThere(resolve(worktree ?? '/', path)));
  return fileExists === null ? ask : { ...ask, fileExists };
}

/** Null if that is unknown: a folder on the way may not be read. */
async function isThere(path: string): Promise<boolean | null> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'ENOENT' ? false : null;
  }
}

async function inTime<T>(work: Promise<T>): Promise<T | null> {
  const { promise, resolve: give } = Promise.withResolvers<null>();
  const timer = setTimeout(() => give(null), WRITTEN_FILES_WAIT_MS);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
