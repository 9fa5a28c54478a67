import type { LastingEvent } from '../../agent/agent-event.ts';
import { applyEvent } from '../../domain/apply-agent-event.ts';
import { openChange, saveChange } from '../../domain/change-session.ts';
import type { EventContext } from '../../domain/event-context.ts';
import { addRaw } from '../../domain/session-change.ts';
import { refuse } from '../../domain/take-requests.ts';
import type { Logger } from '../../lib/logger.ts';
import { retryUntilStored } from '../../store/retry-until-stored.ts';
import type { Store, Tx } from '../../store/store.ts';

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
    await retryUntilStored(deps, (tx) => applyLines(tx, deps, lines), { batch: true });
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
  await retryUntilStored(deps, (tx) => storeRaw(tx, deps, line));
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
