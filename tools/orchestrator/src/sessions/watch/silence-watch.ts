import { awaitsTasks, isChecking, type StageId } from '@callboard/contract';
import { changeSession } from '../../domain/change-session.ts';
import type { Logger } from '../../lib/logger.ts';
import { createCoalescingWorker } from '../../lib/nudged-worker.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';

/** The parts of a running session that the watch uses. */
interface Heard extends Pick<SessionExecutor, 'lastHeard'> {
  readonly launch: Pick<SessionExecutor['launch'], 'stageId'>;
}

export interface SilenceWatchDeps {
  store: Store;
  log: Logger;
  /** How long a busy session may be silent. */
  silenceMs: number;
  checkIntervalMs: number;
  running: () => Iterable<Heard>;
  /** Called when a session has become silent: its output may have been lost. */
  onSilent: (stageId: StageId) => void;
}

/**
 * Whether output is expected of a session. Of a background command nobody knows whether it is a dev server, so a person is asked
 * about it, once: whatever they say marks it.
 */
const isExpectedToWork = (record: SessionRecord): boolean =>
  record.state === 'busy'
    ? !isChecking(record)
    : awaitsTasks(record) && record.backgroundTasks.some(({ mark }) => mark === null);

/**
 * Marks a busy session that has printed nothing for long, and removes the mark when it prints again; ends nothing. Sessions
 * that wait for a person may be silent, so a silent session is asked once for its open requests.
 */
export function startSilenceWatch({ store, log, silenceMs, checkIntervalMs, running, onSilent }: SilenceWatchDeps): {
  stop: () => void;
} {
  async function check(): Promise<void> {
    for (const executor of running()) {
      const { stageId } = executor.launch;
      const record = await store.read.sessions.find(stageId);
      if (record === null) continue;
      const { at, silentMs } = executor.lastHeard();
      const isSilent = isExpectedToWork(record) && silentMs >= silenceMs;
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

  // One look at a time, however slow the store is: two would ask a silent session twice.
  const checks = createCoalescingWorker(check, (error) =>
    log.error({ err: error }, 'checking for silent sessions failed'),
  );
  const timer = setInterval(checks.schedule, checkIntervalMs).unref();
  return {
    stop() {
      clearInterval(timer);
      void checks.stop(); // the store ends a look that hangs
    },
  };
}
