import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { StageId } from '@callboard/contract';
import type { Installation } from '../../../e2e/support/callboard.ts';
import { git } from '../../../test-support/git.ts';

/** Whether a folder is named after a stage: with a number, if there was one already. */
export const isOf = (folder: string, stageId: StageId): boolean =>
  folder === stageId || (folder.startsWith(`${stageId}-`) && /^\d+$/.test(folder.slice(stageId.length + 1)));

/** The worktrees that a machine has of a stage. */
export async function worktreesOf({ dataDir }: Pick<Installation, 'dataDir'>, stageId: StageId): Promise<string[]> {
  const folder = join(dataDir, 'worktrees', 'shop');
  const names = await readdir(folder).catch(() => []); // no stage has run there
  return names.filter((name) => isOf(name, stageId)).map((name) => join(folder, name));
}

/** A file in the worktrees of a stage that a machine has taken away, each as it was then. */
export async function inTrash({ repo }: Pick<Installation, 'repo'>, stageId: StageId, file: string): Promise<string[]> {
  const refs = await git(repo, 'for-each-ref', '--format=%(refname)', 'refs/callboard/trash');
  const own = refs.split('\n').filter((ref) => isOf(ref.split('/')[3] ?? '', stageId));
  return Promise.all(own.map((ref) => git(repo, 'show', `${ref}:${file}`).catch(() => ''))); // one without the file
}
