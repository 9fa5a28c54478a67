import type { StageId, StageView } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { failureLead } from '../../../lib/api-client.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { DropZone } from '../../../ui/attached-files.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Note } from '../../../ui/note.tsx';
import { useFormDraft } from '../api/use-form-draft.ts';
import { useFormFiles } from '../api/use-form-files.ts';
import { useSendPatch } from '../api/use-send-stage.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { changedSince, type FieldErrors, readStagePatch, stageFormOf } from '../model/stage-form.ts';
import { FormEnd } from './form-end.tsx';
import css from './forms.module.css';
import { FormDraftNote, StageFields } from './stage-fields.tsx';

/** Changes a stage, as far as it still can change. */
export function EditStageForm({ stageId }: { stageId: StageId }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  if (stage === undefined) return <p>This stage is not on the board any more.</p>;
  return <RowCaches stage={stage} />;
}

function RowCaches({ stage }: { stage: StageView }) {
  const closeForm = useBoardUi((ui) => ui.closeForm);
  const draft = useFormDraft(stage.id, () => stageFormOf(stage));
  const { form, set, isRestored } = draft;
  const files = useFormFiles(stage.id, stage.attachments);
  const [errors, setErrors] = useState<FieldErrors>({});
  /** What the form began with: other fields may have been changed elsewhere since, and are not sent. */
  const [shown, setShown] = useState(stage);
  const startOver = () => {
    draft.discard();
    files.discard();
  };
  const end = () => {
    startOver();
    closeForm();
  };
  const edit = useSendPatch(stage, { draft, files });
  /** The person read what it is now, so the next attempt may replace that. */
  const wasRefused = edit.error instanceof TransportError && edit.error.code === 'stage_changed';
  const { session } = stage;
  const submit = async () => {
    const read = readStagePatch(form, session !== null);
    setErrors('errors' in read ? read.errors : {});
    if ('errors' in read || !files.areRead) return;
    const changes = session === null ? files.changes() : {};
    const before = wasRefused ? stage : shown;
    setShown(before);
    const isDone = await edit.send({ ...changedSince(before, read.patch), ...changes });
    const open = useBoardUi.getState().form;
    if (isDone && open?.kind === 'edit-stage' && open.stageId === stage.id) closeForm();
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    void submit();
  };
  return (
    <DropZone off={session !== null} add={files.add}>
      <form className={css.form} onSubmit={save} noValidate>
        {session !== null && (
          <Note>
            It was started: its prompt, branch, model and dependencies stay. Send it a message, or change model and mode
            on its page.
          </Note>
        )}
        {stage.source !== null && session === null && (
          <Note>Imported from {stage.source}. Importing it again brings it back to what that file says.</Note>
        )}
        {(isRestored || files.isRestored) && <FormDraftNote discard={startOver} />}
        <StageFields
          form={form}
          set={set}
          errors={errors}
          files={files}
          stageId={stage.id}
          startedPhases={session === null ? null : session.phaseIndex + 1}
          submit={() => void submit()}
        />
        {edit.error !== null && <ErrorNote lead={failureLead(edit.error)} saysBoth error={edit.error} />}
        <FormEnd>
          <Button variant="default" onClick={end}>
            Cancel
          </Button>
          <Button type="submit" disabled={!useCanCommand()} loading={edit.isPending}>
            Save
          </Button>
        </FormEnd>
      </form>
    </DropZone>
  );
}
