import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { StageId } from '@callboard/contract';
import type { Installation } from '../support/callboard.ts';

/** Whether a folder is named after a stage: with a number, if there was one already. */
export const isOf = (folder: string, stageId: StageId): boolean =>
  folder === stageId || (folder.startsWith(`${stageId}-`) && /^\d+$/.test(folder.slice(stageId.length + 1)));

/** The worktrees that a machine has of a stage. */
export async function worktreesOf({ dataDir }: Pick<Installation, 'dataDir'>, stageId: StageId): Promise<string[]> {
  const folder = join(dataDir, 'worktrees', 'shop');
  const names = await readdir(folder).catch(() => []); // no stage has run there
  return names.filter((name) => isOf(name, stageId)).map((name) => join(folder, name));
}
