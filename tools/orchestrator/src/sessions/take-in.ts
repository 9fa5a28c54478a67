import type { LastingEvent } from '../domain/agent-event.ts';
import type { Logger } from '../lib/logger.ts';
import { applyEvent } from '../session-state/apply-event.ts';
import { openDraft, saveDraft } from '../session-state/change-session.ts';
import { addRaw } from '../session-state/draft.ts';
import type { EventContext } from '../session-state/event-context.ts';
import { refuse } from '../session-state/take-requests.ts';
import type { Store, Tx } from '../store/store.ts';
import { untilStored } from './until-stored.ts';

/** What a line of the spool told, without what is only passed on live, and the offset behind it. */
export interface LastingLine {
  events: LastingEvent[];
  end: number;
}

export interface TakeInParts {
  store: Store;
  log: Logger;
  context: Omit<EventContext, 'tx' | 'draft'>;
  stageId: Parameters<typeof openDraft>[1];
  signal: AbortSignal;
  /** Stores what was written to the process since: it rides along. */
  markIn: (tx: Tx) => Promise<void>;
}

/**
 * Takes lines into the store together with the spool offset behind them, in one transaction. A store that fails (a
 * full disk, say) is tried again until it works or the signal aborts: what the process printed stays in the spool
 * meanwhile. A line that cannot be applied is kept and shown raw, so that one that nobody foresaw does not stop a session.
 */
export async function takeIn(parts: TakeInParts, lines: readonly LastingLine[]): Promise<void> {
  try {
    await untilStored(parts, (tx) => applyLines(tx, parts, lines), { together: true });
  } catch (error) {
    const [line, ...others] = lines;
    if (line === undefined || parts.signal.aborted) throw error;
    if (others.length === 0) return keepUnapplied(parts, line, error);
    for (const each of lines) await takeIn(parts, [each]);
  }
}

async function keepUnapplied(parts: TakeInParts, line: LastingLine, cause: unknown): Promise<void> {
  const types = line.events.map(({ type }) => type);
  parts.log.error({ err: cause, types }, 'a line could not be applied and is kept raw');
  await untilStored(parts, (tx) => keepRaw(tx, parts, line));
}

async function applyLines(tx: Tx, parts: TakeInParts, lines: readonly LastingLine[]): Promise<void> {
  const { context, stageId } = parts;
  await parts.markIn(tx);
  const events = lines.flatMap((line) => line.events);
  if (events.length > 0) {
    const draft = await openDraft(tx, stageId);
    for (const event of events) await applyEvent({ ...context, tx, draft }, event);
    await saveDraft(tx, draft);
  }
  await tx.launches.setOffset(context.launchId, lines.at(-1)?.end ?? 0);
}

async function keepRaw(tx: Tx, parts: TakeInParts, { events, end }: LastingLine): Promise<void> {
  const { context, stageId } = parts;
  await parts.markIn(tx);
  const draft = await openDraft(tx, stageId);
  for (const raw of events) {
    addRaw(draft, tx.now, raw);
    // Nobody will be asked, so the CLI must not wait.
    if (raw.type === 'asked') {
      const asked = { requestId: raw.requestId, subtype: raw.ask.toolName, permissionFor: raw.ask.toolName };
      await refuse({ ...context, tx, draft }, asked);
    }
  }
  await saveDraft(tx, draft);
  await tx.launches.setOffset(context.launchId, end);
}
