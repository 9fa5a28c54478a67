import { ProjectId, type StageId } from '@callboard/contract';
import { Autocomplete, MultiSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { branchesQuery } from '../../../data/branches-query.ts';
import { boardQuery } from '../../../data/queries.ts';
import { ownGroups } from '../../../lib/own-groups.ts';
import type { StageFormControl } from '../model/stage-form.ts';

/** Where the stage's branch begins, and what it is called. */
export function BranchPanel({ form, set, errors }: StageFormControl) {
  const project = ProjectId.safeParse(form.projectId);
  const { data } = useQuery({ ...branchesQuery(project.data), enabled: project.success });
  const current = data?.current ?? null;
  return (
    <>
      <Autocomplete
        label="Base"
        placeholder={current ?? 'The current commit'}
        data={data?.branches ?? []}
        limit={50}
        value={form.base}
        error={errors.base}
        onChange={(base) => set({ base })}
        comboboxProps={{ withinPortal: false }}
      />
      <TextInput
        label="Branch name"
        placeholder="callboard/<stage-id>"
        value={form.branch}
        error={errors.branch}
        onChange={(event) => set({ branch: event.currentTarget.value })}
        spellCheck={false}
        autoCapitalize="off"
      />
      <p>
        A branch, tag or commit to begin at, and the name of the new branch. It is merged into{' '}
        {current ?? 'the branch of the main checkout'}.
      </p>
    </>
  );
}

/** The stages that have to be done first. */
export function DependenciesPanel({ form, set, errors, stageId }: StageFormControl & { stageId: StageId | null }) {
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
      nothingFoundMessage="No results"
      onChange={(dependsOn) => set({ dependsOn })}
      comboboxProps={{ withinPortal: false }}
    />
  );
}

/** What the stage belongs to: a lane of the board, and a filter. */
export function GroupPanel({ form, set, errors }: StageFormControl) {
  const { data: groups = [] } = useQuery({ ...boardQuery, select: ownGroups });
  return (
    <Autocomplete
      label="Group"
      placeholder="Its lane on the board, such as an epic or a ticket"
      data={groups}
      value={form.group}
      error={errors.group}
      onChange={(group) => set({ group })}
      comboboxProps={{ withinPortal: false }}
    />
  );
}
