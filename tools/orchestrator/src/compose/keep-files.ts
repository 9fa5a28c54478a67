import { settleCompleted } from '../announcements/announcer.ts';
import { createDraftFiles } from '../messages/draft-files.ts';
import { startPruning } from '../store/pruning.ts';
import { createWorktreeCleaning } from '../trash/clean-worktrees.ts';
import { createTrash } from '../trash/trash.ts';
import { createWorktreeSizes } from '../trash/worktree-sizes.ts';
import type { Stores } from './join-machines.ts';
import type { Repositories } from './open-repositories.ts';
import type { Storage } from './open-storage.ts';
import type { StartContext } from './start-context.ts';

/**
 * Files of drafts and of worktrees that were taken away, which are deleted after a while. Before anything else uses a worktree,
 * interrupted clean-ups are settled.
 */
export async function saveFiles(
  { config, log, platform, life }: StartContext,
  { store, worktrees, cleanUp, env, membership }: Pick<Storage, 'store'> & Pick<Stores, 'membership'> & Repositories,
) {
  const here = membership?.claims.here ?? null;
  const { dataDir } = config;
  const draftFiles = createDraftFiles({ store });
  const trash = createTrash({ store, platform, log, dataDir, worktrees, here });
  const sizes = createWorktreeSizes({ env, now: platform.now, uptimeMs: platform.uptimeMs });
  const cleaning = createWorktreeCleaning({
    store,
    platform,
    log,
    dataDir,
    here,
    trash,
    worktrees,
    sizes,
    cleanUp: cleanUp.beforeRemoval,
  });
  await cleaning.settle();
  const forget = { forgetDraftFiles: draftFiles.forgetOlder, forgetTrash: trash.forgetOlder, settleCompleted };
  const pruning = startPruning({ store, platform, log, ...forget });
  life.onStop('pruning', pruning.stop);
  life.onStop('worktree sizes', sizes.stop);
  return { draftFiles, trash, cleaning };
}
