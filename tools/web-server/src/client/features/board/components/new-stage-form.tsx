import type { ProjectId } from '@callboard/contract';
import { Button, Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { errorText } from '../../../lib/api-client.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { useCreateStage, useStartNew } from '../api/use-board-commands.ts';
import { useFormDraft } from '../api/use-form-draft.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { emptyStageForm, type FieldErrors, readStageForm } from '../model/stage-form.ts';
import css from './forms.module.css';
import { FormDraftNote, StageFields } from './stage-fields.tsx';

/** Writes a stage and, if wanted, starts it at once. */
export function NewStageForm({ wantedProject }: { wantedProject: ProjectId | null }) {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const known = projects.find((project) => project.id === wantedProject) ?? projects[0];
  const closeForm = useBoardUi((ui) => ui.closeForm);
  const { form, set, discard, isRestored } = useFormDraft('new', () => emptyStageForm(known?.id ?? ''));
  const [startNow, setStartNow] = useState(false);
  const [errors, setErrors] = useState<FieldErrors>({});
  const start = useStartNew();
  const create = useCreateStage((stage) => {
    if (startNow) start.mutate(stage);
    discard();
    closeForm();
  });
  const cancel = () => {
    discard();
    closeForm();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readStageForm(form);
    setErrors('errors' in read ? read.errors : {});
    if ('stage' in read) create.mutate(read.stage);
  };
  return (
    <form className={css.form} onSubmit={submit} noValidate>
      {isRestored && <FormDraftNote discard={discard} />}
      <StageFields form={form} set={set} errors={errors} stageId={null} startedPhases={null} />
      {create.isError && <FailureNote>The stage was not created. {errorText(create.error)}</FailureNote>}
      <div className={css.end}>
        <Checkbox
          className={css.first}
          label="Start now"
          checked={startNow}
          onChange={(event) => setStartNow(event.currentTarget.checked)}
        />
        <Button variant="default" onClick={cancel}>
          Cancel
        </Button>
        <Button type="submit" disabled={!useCanCommand()} loading={create.isPending}>
          Create stage
        </Button>
      </div>
    </form>
  );
}
