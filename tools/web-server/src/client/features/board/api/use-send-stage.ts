import type { NewStage, StagePatch, StageView } from '@callboard/contract';
import { useEffect, useRef } from 'react';
import { v5 as idOf } from 'uuid';
import { showFailure } from '../../../data/use-command.tsx';
import { isUncertain } from '../../../lib/api-client.ts';
import { useCreateStage, useEditStage, useStartNew } from './use-board-commands.ts';
import type { FormDraft } from './use-form-draft.ts';
import type { FormFiles } from './use-form-files.ts';

interface StageDraft {
  draft: FormDraft;
  files: FormFiles;
}

/** Whether the form is still open, for what comes after an answer. */
function useIsOpen() {
  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);
  return isOpen;
}

/** Returns how to forget what is sent now. That returns false if something was changed since, which is kept. */
function sending({ draft, files }: StageDraft): () => boolean {
  const parts = [draft.sending(), files.sending()];
  return () => parts.map((forget) => forget()).every((isSame) => isSame);
}

const outcome = (error: unknown, verb: string): string => `${isUncertain(error) ? 'may have been' : 'was not'} ${verb}`;

/**
 * Creates the stage of a form, and starts it if that is wanted, also if the form is closed before Callboard has answered.
 * The same draft sent again creates no second one: the reply may have been lost, with the page.
 */
export function useSendNewStage(parts: StageDraft) {
  const create = useCreateStage();
  const start = useStartNew();
  const isOpen = useIsOpen();
  async function send(stage: NewStage, startsNow: boolean): Promise<{ made: StageView; hasMore: boolean } | null> {
    const { draft, files } = parts;
    const content = JSON.stringify([stage, files.added.map(({ fileId }) => fileId)]);
    const forget = sending(parts);
    try {
      const creationId = idOf(content, draft.draftId);
      const { stage: made } = await create.mutateAsync({ ...stage, ...files.attachments(), creationId });
      if (startsNow) start.mutate(made);
      return { made, hasMore: !forget() };
    } catch (error) {
      // An open form says it itself.
      if (!isOpen.current) showFailure({ title: `${stage.title} ${outcome(error, 'created')}`, error, saysBoth: true });
      return null;
    }
  }
  return { send, isPending: create.isPending, error: create.error };
}

/** Saves the form of a stage. `send` returns whether it was stored and nothing was changed since. */
export function useSendPatch(stage: Pick<StageView, 'id' | 'title'>, parts: StageDraft) {
  const edit = useEditStage();
  const isOpen = useIsOpen();
  async function send(patch: StagePatch): Promise<boolean> {
    const forget = sending(parts);
    try {
      await edit.mutateAsync({ stageId: stage.id, patch });
      return forget();
    } catch (error) {
      const title = `${stage.title} ${outcome(error, 'changed')}`;
      if (!isOpen.current) showFailure({ title, error, stageId: stage.id, saysBoth: true });
      return false;
    }
  }
  return { send, isPending: edit.isPending, error: edit.error };
}
