import type { StageId, ViewedFiles } from '@callboard/contract';
import { requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';

/** Which files of a stage's changes each person has viewed, in which version. */
export interface Viewed {
  /** @throws Rejection `unknown_stage` */
  list(stageId: StageId, person: string): Promise<ViewedFiles>;
  /** Ticks a version of a file as viewed, or takes the tick back (null). @throws Rejection `unknown_stage` */
  set(stageId: StageId, file: { path: string; version: string | null }, person: string): Promise<ViewedFiles>;
}

export function createViewed({ store }: { store: Store }): Viewed {
  return {
    async list(stageId, person) {
      await requireStage(store.read, stageId);
      return store.read.viewed.listOf(stageId, person);
    },
    set: (stageId, { path, version }, person) =>
      store.transact(async (tx) => {
        await requireStage(tx, stageId);
        if (version === null) await tx.viewed.remove(stageId, person, path);
        else await tx.viewed.save(stageId, person, { path, version });
        await tx.emit({ type: 'viewed-updated', data: { stageId, person } });
        return tx.viewed.listOf(stageId, person);
      }),
  };
}
