import { LaunchId } from '@callboard/contract';
import { endMarked } from './end-processes.ts';
import { findMarkedProcesses } from './marked-processes.ts';

/** What is stored of launches, as far as it is needed here. */
interface StoredLaunches {
  find(id: LaunchId): Promise<{ state: string } | null>;
}

/**
 * Ends what carries the marker of an ended launch of this store. That a launch has ended is stored before what it left is
 * ended, so a Callboard that was killed in between has left it running. True when none is left.
 */
export async function endStragglers(launches: StoredLaunches, graceMs: number): Promise<boolean> {
  const marked = await findMarkedProcesses();
  const ids = [...marked.keys()].flatMap((marker) => LaunchId.safeParse(marker).data ?? []);
  const states = await Promise.all(ids.map(async (id) => (await launches.find(id))?.state));
  const ended = ids.filter((_, place) => states[place] === 'ended');
  return ended.length === 0 || endMarked(ended, graceMs);
}
