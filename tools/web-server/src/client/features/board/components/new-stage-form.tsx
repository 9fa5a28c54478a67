import type { StageView } from '@callboard/contract';
import { Button, Checkbox, MultiSelect, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { errorText } from '../../../lib/api.ts';
import { MODE_OPTIONS } from '../../../lib/modes.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { boardQuery } from '../../../live/queries.ts';
import { FailureNote } from '../../../ui/note.tsx';
import { useCreateStage, useStartNew } from '../api/use-board-commands.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { emptyStageForm, type FieldErrors, readStageForm, type StageForm } from '../model/stage-form.ts';
import css from './forms.module.css';

const PRIORITIES = Array.from({ length: 10 }, (_, p) => ({
  value: String(p),
  label: p === 0 ? 'P0, most urgent' : `P${p}`,
}));

/** Writes a stage and, if wanted, starts it at once. */
export function NewStageForm() {
  const { data: board } = useQuery(boardQuery);
  const projects = board?.projects ?? [];
  const chosen = useBoardUi((ui) => ui.projectId);
  const closeForm = useBoardUi((ui) => ui.closeForm);
  const known = projects.find((project) => project.id === chosen) ?? projects[0];
  const [form, setForm] = useState(() => emptyStageForm(known?.id ?? ''));
  const [errors, setErrors] = useState<FieldErrors>({});
  const set = (change: Partial<StageForm>) => setForm((old) => ({ ...old, ...change }));
  const start = useStartNew();
  const create = useCreateStage((stage) => {
    if (form.startNow) start.mutate(stage);
    closeForm();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readStageForm(form);
    setErrors('errors' in read ? read.errors : {});
    if ('stage' in read) create.mutate(read.stage);
  };
  return (
    <form className={css.form} onSubmit={submit} noValidate>
      <Texts form={form} set={set} errors={errors} />
      <div className={css.row}>
        <NativeSelect
          label="Project"
          data={projects.map(({ id, name }) => ({ value: id, label: name }))}
          value={form.projectId}
          error={errors.projectId}
          onChange={(event) => set({ projectId: event.currentTarget.value })}
        />
        <DependsOn stages={board?.stages ?? []} form={form} set={set} error={errors.dependsOn} />
      </div>
      <Choices form={form} set={set} />
      {create.isError && <FailureNote>The stage was not created. {errorText(create.error)}</FailureNote>}
      <End form={form} set={set} busy={create.isPending} close={closeForm} />
    </form>
  );
}

interface PartProps {
  form: StageForm;
  set: (change: Partial<StageForm>) => void;
}

function Texts({ form, set, errors }: PartProps & { errors: FieldErrors }) {
  return (
    <>
      <TextInput
        label="Title"
        value={form.title}
        error={errors.title}
        onChange={(event) => set({ title: event.currentTarget.value })}
        data-autofocus
        required
      />
      <Textarea
        label="Prompt"
        description="What Claude is told, as the first message."
        autosize
        minRows={5}
        maxRows={16}
        value={form.prompt}
        error={errors.prompt}
        onChange={(event) => set({ prompt: event.currentTarget.value })}
        required
      />
    </>
  );
}

function DependsOn({ stages, form, set, error }: PartProps & { stages: StageView[]; error: string | undefined }) {
  const data = stages
    .filter((stage) => stage.projectId === form.projectId)
    .map((stage) => ({ value: String(stage.id), label: `${stage.title} (${stage.id})` }));
  return (
    <MultiSelect
      label="Depends on"
      placeholder={form.dependsOn.length === 0 ? 'Nothing' : ''}
      data={data}
      value={form.dependsOn}
      error={error}
      searchable
      nothingFoundMessage="No stage of that name"
      onChange={(dependsOn) => set({ dependsOn })}
    />
  );
}

function Choices({ form, set }: PartProps) {
  return (
    <div className={css.row}>
      <NativeSelect
        label="Priority"
        data={PRIORITIES}
        value={form.priority}
        onChange={(event) => set({ priority: event.currentTarget.value })}
      />
      <NativeSelect
        label="Permission mode"
        data={MODE_OPTIONS}
        value={form.permissionMode}
        onChange={(event) => set({ permissionMode: event.currentTarget.value })}
      />
    </div>
  );
}

function End({ form, set, busy, close }: PartProps & { busy: boolean; close: () => void }) {
  return (
    <div className={css.end}>
      <Checkbox
        className={css.first}
        label="Start now"
        checked={form.startNow}
        onChange={(event) => set({ startNow: event.currentTarget.checked })}
      />
      <Button variant="default" onClick={close}>
        Cancel
      </Button>
      <Button type="submit" disabled={!useCanCommand()} loading={busy}>
        Create stage
      </Button>
    </div>
  );
}
