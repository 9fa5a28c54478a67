import { type Draft, FILES_KEY, MESSAGE_KEY, MessageDraft, type StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';

/** Texts that people began to write and have not sent, the same on all their devices. The last writer wins. */
export interface Drafts {
  /** @throws Rejection `unknown_stage` */
  list(stageId: StageId): Promise<Draft[]>;
  /**
   * Saves a draft, or removes it if its value is null. One whose message was sent is not saved: a save may arrive after its message,
   * and a page that was left before the reply has the text still.
   * @returns the draft as it is now, with the text of that message
   * @throws Rejection `unknown_stage`; `bad_request` for the list of files, which follows from the files themselves
   */
  put(draft: Omit<Draft, 'updatedAt'>): Promise<{ draft: Draft; sent?: string }>;
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
          throw new Rejection('bad_request', 'The server keeps the list of files. Add and remove files instead.');
        }
        const sent = await sentText(tx, wanted);
        if (sent === null) return { draft: await saveDraft(tx, wanted) };
        return { draft: { ...wanted, value: null, updatedAt: tx.now }, sent };
      }),
  };
}

/** Returns the text of the message that a draft was sent as; null if it was not sent. */
async function sentText(tx: Tx, { stageId, key, value }: Pick<Draft, 'stageId' | 'key' | 'value'>) {
  const draft = key === MESSAGE_KEY ? MessageDraft.safeParse(value).data : undefined;
  const message = draft && (await tx.outbox.findMessage(stageId, draft.messageId));
  return message == null ? null : (message.body.sentAs ?? message.body.text);
}

/** Saves a draft, or removes it if its value is null, and tells all screens. */
export async function saveDraft(tx: Tx, wanted: Omit<Draft, 'updatedAt'>): Promise<Draft> {
  const draft = { ...wanted, updatedAt: tx.now };
  if (draft.value === null) await tx.drafts.remove(draft.stageId, draft.key);
  else await tx.drafts.save(draft);
  await tx.emit({ type: 'draft-updated', data: draft });
  return draft;
}
