import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MergeMethod } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { git } from '../../../../test-support/git.ts';
import { createKit } from './kit.ts';

/** A prompt to which Claude only says this. */
export const said = (text: string) => prompt({ steps: [{ text }] });

/** A stage in Review, with its worktree, and what people do to finish it. */
export async function setUpReview(where: 'here' | 'apart' = 'here') {
  const kit = await createKit({ isEmulated: true, where });
  const stageId = await kit.startStage(said('Done.'), { title: 'Login form' });
  await kit.client.state(stageId, 'idle');
  const stage = async () => (await kit.client.command('get_stage', { stageId })).stage;
  const worktree = (await stage()).worktree;
  if (worktree === null) throw new Error('the stage has no worktree');
  const { path } = worktree;
  const commit = async (file = 'a.txt', text = 'work\n') => {
    await writeFile(join(path, file), text);
    await git(path, 'add', '.');
    await git(path, 'commit', '--quiet', '-m', `Write ${file}`);
  };
  const head = (folder = kit.repo) => git(folder, 'rev-parse', 'HEAD');
  const status = (folder = kit.repo) => git(folder, 'status', '--porcelain');
  const complete = (fields: object = {}) => kit.client.command('complete_stage', { stageId, ...fields });
  const undo = () => kit.client.command('undo_completion', { stageId });
  const check = async (method?: MergeMethod) =>
    (await kit.client.command('get_completion', { stageId, ...(method && { method }) })).completion;
  const seen = async () => {
    const { plan } = await check();
    return { head: plan?.head, tree: plan?.tree };
  };
  return {
    kit,
    client: kit.client,
    repo: kit.repo,
    stageId,
    stage,
    path,
    commit,
    head,
    status,
    complete,
    undo,
    check,
    seen,
  };
}
