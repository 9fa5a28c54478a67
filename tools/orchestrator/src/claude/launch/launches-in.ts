import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The launches that have their folder among the sessions of a data directory: `<stage>/<launch>`. The folder of an ended one is gone. */
export async function launchesIn(sessions: string): Promise<{ stageId: string; launchId: string }[]> {
  const names = (folder: string) => readdir(folder).catch(() => []);
  const found = (await names(sessions)).map(async (stageId) =>
    (await names(join(sessions, stageId))).map((launchId) => ({ stageId, launchId })),
  );
  return (await Promise.all(found)).flat();
}
