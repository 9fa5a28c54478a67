import type { Draft } from '@callboard/contract';
import type { Tx } from '../store/store.ts';

/** Keeps a draft, or removes it where its value is null, and tells all screens. */
export async function keepDraft(tx: Tx, wanted: Omit<Draft, 'updatedAt'>): Promise<Draft> {
  const draft = { ...wanted, updatedAt: tx.now };
  if (draft.value === null) await tx.drafts.remove(draft.stageId, draft.key);
  else await tx.drafts.save(draft);
  await tx.emit({ type: 'draft-updated', data: draft });
  return draft;
}
