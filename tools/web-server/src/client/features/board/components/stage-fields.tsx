import { ProjectId, type StageId } from '@callboard/contract';
import { Autocomplete, Button, Checkbox, MultiSelect, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { boardQuery, useCapabilities } from '../../../data/queries.ts';
import { sandboxOptions } from '../../../lib/isolation-words.ts';
import { choiceOf, modelChoices } from '../../../lib/model-choices.ts';
import { MODE_OPTIONS } from '../../../lib/permission-modes.ts';
import { Note } from '../../../ui/note.tsx';
import type { StageFormControl } from '../model/stage-form.ts';
import css from './forms.module.css';

import { PhasesEditor } from './phases-editor.tsx';

const PRIORITIES = Array.from({ length: 10 }, (_, p) => ({
  value: String(p),
  label: p === 0 ? 'P0, most urgent' : `P${p}`,
}));

interface StageFieldsProps extends StageFormControl {
  /** The edited stage; null for a new one. */
  stageId: StageId | null;
  /** How many phases have begun; null for a stage that was not started, where everything can change. */
  startedPhases: number | null;
}

/** The fields of a stage that can still change. */
export function StageFields({ form, set, errors, stageId, startedPhases }: StageFieldsProps) {
  const part = { form, set, errors };
  const isOpen = startedPhases === null;
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
      {isOpen && <Prompt {...part} />}
      {isOpen && (
        <div className={css.row}>
          {stageId === null && <ProjectField {...part} />}
          <DependsOn {...part} stageId={stageId} />
        </div>
      )}
      <div className={css.row}>
        <NativeSelect
          label="Priority"
          data={PRIORITIES}
          value={form.priority}
          onChange={(event) => set({ priority: event.currentTarget.value })}
        />
        {isOpen && <ModeAndModel {...part} />}
      </div>
      {isOpen && <Starting {...part} />}
      <PhasesEditor {...part} startedPhases={startedPhases ?? 0} />
    </>
  );
}

function Prompt({ form, set, errors }: StageFormControl) {
  return (
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
  );
}

function ProjectField({ form, set, errors }: StageFormControl) {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  return (
    <NativeSelect
      label="Project"
      data={projects.map(({ id, name }) => ({ value: id, label: name }))}
      value={form.projectId}
      error={errors.projectId}
      onChange={(event) => set({ projectId: event.currentTarget.value, dependsOn: [] })}
    />
  );
}

function DependsOn({ form, set, errors, stageId }: StageFormControl & { stageId: StageId | null }) {
  const { data: stages = [] } = useQuery({ ...boardQuery, select: (view) => view.stages });
  const data = stages
    .filter((stage) => stage.projectId === form.projectId && stage.id !== stageId)
    .map((stage) => ({ value: String(stage.id), label: `${stage.title} (${stage.id})` }));
  return (
    <MultiSelect
      label="Depends on"
      placeholder={form.dependsOn.length === 0 ? 'Nothing' : ''}
      data={data}
      value={form.dependsOn}
      error={errors.dependsOn}
      searchable
      nothingFoundMessage="No stage of that name"
      onChange={(dependsOn) => set({ dependsOn })}
    />
  );
}

function ModeAndModel({ form, set }: StageFormControl) {
  const { data: ofProject = null } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === form.projectId)?.settings.sandbox,
  });
  return (
    <>
      <NativeSelect
        label="Permission mode"
        data={MODE_OPTIONS}
        value={form.permissionMode}
        onChange={(event) => set({ permissionMode: event.currentTarget.value })}
      />
      <ModelField form={form} set={set} />
      <NativeSelect
        label="Sandbox"
        data={sandboxOptions(ofProject)}
        value={form.sandbox}
        onChange={(event) => set({ sandbox: event.currentTarget.value })}
      />
    </>
  );
}

/** Accepts any model, and suggests those that Claude Code reported. */
function ModelField({ form, set }: Pick<StageFormControl, 'form' | 'set'>) {
  const { data: projectId } = ProjectId.safeParse(form.projectId);
  const choices = modelChoices(useCapabilities(projectId === undefined ? {} : { projectId }));
  return (
    <Autocomplete
      label="Model"
      placeholder="The default one"
      data={choices.map(({ value }) => value)}
      filter={({ options }) => options} // always all of the few suggestions
      renderOption={({ option: { value } }) => {
        const choice = choiceOf(choices, value);
        return (
          <span className={css.model}>
            {choice?.label ?? value}
            {choice !== undefined && choice.description !== '' && <span>{choice.description}</span>}
          </span>
        );
      }}
      value={form.model}
      onChange={(model) => set({ model })}
    />
  );
}

function Starting({ form, set }: StageFormControl) {
  return (
    <div className={css.row}>
      <Checkbox
        label="Start by itself"
        description="Once nothing holds it back and there is room."
        checked={form.autoStart}
        onChange={(event) => set({ autoStart: event.currentTarget.checked })}
      />
      <Checkbox
        label="Hold back"
        description="It stays in Backlog until you let it go."
        checked={form.held}
        onChange={(event) => set({ held: event.currentTarget.checked })}
      />
    </div>
  );
}

/** Says that the form holds an unsent draft, and offers to discard it. */
export const FormDraftNote = ({ discard }: { discard: () => void }) => (
  <Note>
    This holds what you wrote before and did not send.{' '}
    <Button variant="subtle" size="compact-sm" onClick={discard}>
      Begin anew
    </Button>
  </Note>
);
