import type { SessionSummary, StageId, Worktree } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { changeSession } from '../domain/change-session.ts';
import { abandon, finish } from '../domain/going-back.ts';
import { addNotice } from '../domain/session-change.ts';
import { Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Rewinding } from '../store/going-back-records.ts';
import { summaryOf } from '../store/records.ts';
import type { Store, Tx } from '../store/store.ts';
import type { RestorePlan, Worktrees } from '../worktrees/worktrees.ts';
import { requireConversation } from './find-moment.ts';

export interface CarryOutDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'restore'>;
  log: Logger;
  /** Stores what has happened; on disk when it resolves. */
  record: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
}

/**
 * Does what is stored of going back, and stores the result. Repeating it after a crash is harmless.
 * @throws Rejection `cannot_go_back` if the files could not be set
 */
export async function carryOut(deps: CarryOutDeps, stageId: StageId): Promise<SessionSummary> {
  const { worktree, session } = await requireConversation(deps.store, stageId);
  const { goingBack } = session;
  if (goingBack === null) return summaryOf(session);
  const { files } = goingBack;
  const blocked = files === null ? [] : (await setFiles(deps, { stageId, worktree, files })).blocked;
  const done = { ...goingBack, blocked: blocked.map(({ path }) => path) };
  return summaryOf(await deps.record((tx) => changeSession(tx, stageId, (change) => finish(tx, change, done))));
}

interface SetFiles {
  stageId: StageId;
  worktree: Worktree;
  files: NonNullable<Rewinding['files']>;
}

/**
 * Sets the files; if that fails, sets them to what they were.
 * @throws Rejection `cannot_go_back`, after the failure is stored
 */
async function setFiles(
  { record, worktrees, log }: CarryOutDeps,
  { stageId, worktree, files }: SetFiles,
): Promise<RestorePlan> {
  try {
    return await worktrees.restore(worktree, files);
  } catch (error) {
    log.warn({ err: error, stageId }, 'setting the files back failed');
    const isAsBefore = await worktrees.restore(worktree, { target: files.kept }).then(
      () => true,
      () => false,
    );
    const state = isAsBefore
      ? 'The files are as they were before.'
      : `Some files may have been restored. The previous ones are kept as the commit ${files.kept}.`;
    const text = `Going back failed. ${state} Cause: ${messageOf(error)}`;
    await record((tx) =>
      changeSession(tx, stageId, (change) => {
        abandon(change);
        addNotice(change, tx.now, { level: 'error', code: 'going-back-failed', text });
      }),
    );
    throw new Rejection('cannot_go_back', text, { cause: error });
  }
}
