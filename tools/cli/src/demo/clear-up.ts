import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { EndAllSessions } from '../edges.ts';

/** Where the demo keeps what, in its own folder. */
export const demoLayout = (root: string) => ({
  dataDir: join(root, 'data'),
  repository: join(root, 'shop'),
  home: join(root, 'home'),
  tmp: join(root, 'tmp'),
});

/**
 * Ends the sessions of a demo that has no servers any more, and removes its folder.
 * @returns the stages whose processes could not be ended; with any, the folder stays
 */
export async function clearUp(root: string, endAllSessions: EndAllSessions): Promise<string[]> {
  const { failed } = await endAllSessions(demoLayout(root).dataDir, { log: () => undefined });
  if (failed.length === 0) await rm(root, { recursive: true, force: true, maxRetries: 10 });
  return failed;
}
