import { type Draft, FILES_KEY, type StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import { keepDraft } from './keep-draft.ts';

/** What people have begun to write, the same on all their devices. The last one to write wins. */
export interface Drafts {
  /** @throws Rejection `unknown_stage` */
  list(stageId: StageId): Promise<Draft[]>;
  /**
   * Keeps it, or removes it where its value is null.
   * @throws Rejection `unknown_stage`; `bad_request` for the list of files, which follows from the files themselves
   */
  put(draft: Omit<Draft, 'updatedAt'>): Promise<Draft>;
}

export function createDrafts({ store }: { store: Store }): Drafts {
  return {
    async list(stageId) {
      await requireStage(store.read, stageId);
      return store.read.drafts.listOf(stageId);
    },
    put: (wanted) =>
      store.transact(async (tx) => {
        await requireStage(tx, wanted.stageId);
        if (wanted.key === FILES_KEY) {
          throw new Rejection('bad_request', 'The list of files is kept by the server: add and remove files instead.');
        }
        return keepDraft(tx, wanted);
      }),
  };
}
