import { readdir, readFile } from 'node:fs/promises';
import { shareRuns } from '../../lib/shared-runs.ts';

/** The variable that marks a launch's process and everything it starts, also Bash children in groups of their own. */
export const LAUNCH_MARKER = 'CB_LAUNCH';

/**
 * Living processes by the launch whose marker they carry, as far as we may look. Needs `/proc`; elsewhere there are none
 * to be found this way. Who asks at the same time shares the answer: all of `/proc` is read for it.
 */
export const findMarkedProcesses: () => Promise<ReadonlyMap<string, readonly number[]>> = shareRuns(readAll);

async function readAll(): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, readonly number[]>();
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const launch = await markerOf(name);
    if (launch !== null) found.set(launch, [...(found.get(launch) ?? []), Number(name)]);
  }
  return found;
}

async function markerOf(pid: string): Promise<string | null> {
  try {
    const environ = await readFile(`/proc/${pid}/environ`, 'utf8');
    const marker = environ.split('\0').find((entry) => entry.startsWith(`${LAUNCH_MARKER}=`));
    return marker === undefined ? null : marker.slice(LAUNCH_MARKER.length + 1);
  } catch {
    return null; // it is gone by now, or another user's
  }
}
