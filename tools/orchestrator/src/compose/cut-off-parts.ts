import { dataDirLayout } from '../data-dir.ts';
import { endWithoutStore } from '../end-without-store.ts';
import type { CutOffDeps } from '../machines/cut-off.ts';
import type { StartContext } from './start-context.ts';

/** How long a session has to end after a signal. */
const GRACE_MS = 5_000;

/** What ends the sessions of this machine when it is cut off; null if nothing does. Needs `/proc`, by which processes are found. */
export function cutOffDeps({ config, log }: Pick<StartContext, 'config' | 'log'>): CutOffDeps | null {
  const { dataDir, endSessionsAfterMinutes } = config;
  if (endSessionsAfterMinutes === null) return null;
  if (process.platform !== 'linux') {
    log.warn(
      'CALLBOARD_END_SESSIONS_AFTER_MINUTES has no effect: without the database, sessions are found on Linux only',
    );
    return null;
  }
  return {
    file: dataDirLayout(dataDir).renewal,
    log,
    afterMs: Math.round(endSessionsAfterMinutes * 60_000),
    async end(reason) {
      const options = { log: (line: string) => log.warn(line), graceMs: GRACE_MS, reason };
      return (await endWithoutStore(dataDir, options)).failed;
    },
  };
}
