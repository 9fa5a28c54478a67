import type { StageId } from '@callboard/contract';
import { changeSession } from '../../domain/change-session.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../../store/store.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';

/** What it has to know of a running session. */
interface Heard extends Pick<SessionExecutor, 'lastHeard'> {
  readonly launch: Pick<SessionExecutor['launch'], 'stageId'>;
}

export interface SilenceWatchParts {
  store: Store;
  log: Logger;
  /** How long a session that works may be silent. */
  silenceMs: number;
  lookMs: number;
  running: () => Iterable<Heard>;
  /** A session has become silent: what it waits for may have been lost on its way to us. */
  onSilent: (stageId: StageId) => void;
}

/**
 * Asks for attention when a session that should be working has printed nothing for long; it ends nothing, and takes the
 * sign back once something is heard. A session that waits for a person is silent by right, so one that is silent is
 * asked, once, what it waits for.
 */
export function startSilenceWatch({ store, log, silenceMs, lookMs, running, onSilent }: SilenceWatchParts): {
  stop: () => void;
} {
  async function look(): Promise<void> {
    for (const executor of running()) {
      const { stageId } = executor.launch;
      const record = await store.read.sessions.find(stageId);
      if (record === null) continue;
      const { at, silentMs } = executor.lastHeard();
      const isSilent = record.state === 'busy' && silentMs >= silenceMs;
      const stalledSince = isSilent ? at.toISOString() : null;
      if (stalledSince === record.stalledSince) continue;
      await store.transact(
        (tx) =>
          changeSession(tx, stageId, (change) => {
            change.record = { ...change.record, stalledSince };
          }),
        { sync: 'later' },
      );
      if (isSilent) onSilent(stageId);
    }
  }

  const timer = setInterval(() => {
    look().catch((error: unknown) => log.error({ err: error }, 'looking for silent sessions failed'));
  }, lookMs).unref();
  return { stop: () => clearInterval(timer) };
}
