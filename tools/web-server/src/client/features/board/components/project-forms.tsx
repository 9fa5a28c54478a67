import type { Project, ProjectId } from '@callboard/contract';
import { Autocomplete, Button, Checkbox, NumberInput, Tabs, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, type FormEvent, useState } from 'react';
import { useBudget } from '../../../data/budgets.ts';
import { openBudgets } from '../../../data/budgets-dialog.ts';
import { boardQuery } from '../../../data/queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { BudgetRow } from '../../../ui/budget-meter.tsx';
import { Confirm } from '../../../ui/confirm-dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { editorsQuery, useEditProject, useRemoveProject } from '../api/use-board-commands.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { projectFormOf, readProjectForm } from '../model/project-form.ts';
import { leaveForm, useUnsaved, useUnsavedForms } from '../model/unsaved-forms.ts';
import { ExportForm } from './export-form.tsx';
import css from './forms.module.css';
import { GitSettingsReview } from './git-settings-review.tsx';
import { ImportForm } from './import-form.tsx';
import { LostAfterField, MachineField } from './machine-fields.tsx';
import { PipelinesForm } from './pipelines-form.tsx';
import { ProjectWorktrees } from './project-worktrees.tsx';
import { SandboxFields } from './sandbox-fields.tsx';
import { WorkspaceSettingsForm } from './workspace-fields.tsx';

const TABS = {
  settings: 'Settings',
  worktrees: 'Worktrees',
  pipelines: 'Pipelines',
  files: 'Import and export',
  rules: 'Rules',
  git: 'Git settings',
} as const;

interface ProjectFormsProps {
  projectId: ProjectId;
  /** The tab to open first; undefined for the settings. */
  tab?: 'git' | 'files' | undefined;
  RulesSlot: ComponentType<{ projectId: ProjectId }>;
}

/** Everything that can be done with a project. */
export function ProjectForms({ projectId, tab, RulesSlot }: ProjectFormsProps) {
  const { data: project } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find((other) => other.id === projectId),
  });
  const [current, show] = useState(tab ?? 'settings');
  // What was typed in a tab is there when a person comes back to it.
  const [visited, visit] = useState<ReadonlySet<string>>(new Set([current]));
  if (project === undefined) return <p>This project was removed from the board.</p>;
  const open = (value: string | null) => {
    if (value === null) return;
    visit(new Set([...visited, value]));
    show(value);
  };
  const savedTab = (value: string) => ({ value, keepMounted: visited.has(value) });
  return (
    <Tabs value={current} onChange={open} keepMounted={false} keepMountedMode="display-none">
      <Tabs.List mb="lg">
        {Object.entries(TABS).map(([value, label]) => (
          <Tabs.Tab key={value} value={value}>
            {label}
            <UnsavedMark name={value} />
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel {...savedTab('settings')}>
        <ProjectBudget projectId={projectId} />
        <SettingsForm project={project} />
      </Tabs.Panel>
      <Tabs.Panel {...savedTab('worktrees')}>
        <WorkspaceSettingsForm project={project} />
        <ProjectWorktrees projectId={projectId} />
      </Tabs.Panel>
      <Tabs.Panel {...savedTab('pipelines')}>
        <PipelinesForm project={project} />
      </Tabs.Panel>
      <Tabs.Panel {...savedTab('files')}>
        <div className={css.form}>
          <ExportForm projectId={projectId} />
          <ImportForm projectId={projectId} />
        </div>
      </Tabs.Panel>
      <Tabs.Panel value="rules">
        <RulesSlot projectId={projectId} />
      </Tabs.Panel>
      <Tabs.Panel value="git">
        <GitSettingsReview project={project} />
      </Tabs.Panel>
    </Tabs>
  );
}

/** Says that a tab has edits that are not saved. */
function UnsavedMark({ name }: { name: string }) {
  const isUnsaved = useUnsavedForms(({ names }) => names.has(name));
  return isUnsaved ? (
    <span className={css.unsaved} title="Not saved">
      , not saved
    </span>
  ) : null;
}

/** How much the stages of the project may spend. It is kept at once, not with the form. */
function ProjectBudget({ projectId }: { projectId: ProjectId }) {
  const scope = { projectId };
  return (
    <section className={css.budget} aria-labelledby="project-budget">
      <h3 id="project-budget">Budget</h3>
      <BudgetRow budget={useBudget(scope)} change={() => openBudgets(scope)} />
    </section>
  );
}

function SettingsForm({ project }: { project: Project }) {
  const [form, setForm] = useState(() => projectFormOf(project));
  const set = (change: Partial<typeof form>) => setForm((old) => ({ ...old, ...change }));
  const { submitting, saved } = useUnsaved('settings', form);
  const edit = useEditProject(project.id, saved);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    submitting();
    edit.mutate(readProjectForm(form));
  };
  return (
    <form className={css.form} onSubmit={submit} noValidate>
      <p className={css.about}>
        <code>{project.path}</code>
      </p>
      <TextInput
        label="Name"
        value={form.name}
        error={form.name.trim() === '' ? 'The name is empty.' : null}
        onChange={(event) => set({ name: event.currentTarget.value })}
        required
      />
      <NumberInput
        label="Time limit for requests, in minutes"
        description="A request that nobody answers for this long is denied, and Claude is told. Leave empty for no limit."
        min={1}
        allowDecimal={false}
        hideControls
        value={form.minutes}
        onChange={(minutes) => set({ minutes: String(minutes) })}
      />
      <Textarea
        label="Files to copy into each worktree"
        description="Ignored files such as .env, one pattern per line, relative to the repository."
        autosize
        minRows={2}
        maxRows={8}
        value={form.copy}
        onChange={(event) => set({ copy: event.currentTarget.value })}
        styles={{ input: { fontFamily: 'var(--font-code)' } }}
      />
      <Checkbox
        label="Check out submodules"
        description="In every new worktree. Git may fetch them from their remotes. If off, their folders stay empty."
        checked={form.submodules}
        onChange={(event) => set({ submodules: event.currentTarget.checked })}
      />
      <MachineField projectId={project.id} value={form.machine} set={(machine) => set({ machine })} />
      <LostAfterField projectId={project.id} value={form.lostAfter} set={(lostAfter) => set({ lostAfter })} />
      <EditorField value={form.editor} set={(editor) => set({ editor })} />
      <Checkbox
        label="Accept messages from other Claude Code sessions"
        description="Any session or program of this account can then write to Claude without your review. The transcript shows who wrote. Applies to sessions started from now on."
        checked={form.sessionMessages}
        onChange={(event) => set({ sessionMessages: event.currentTarget.checked })}
      />
      <SandboxFields
        form={form.sandbox}
        set={(change) => setForm((old) => ({ ...old, sandbox: { ...old.sandbox, ...change } }))}
      />
      {edit.isError && <ErrorNote lead="Nothing was changed." error={edit.error} />}
      <div className={css.end}>
        <RemoveProject project={project} />
        <Button variant="default" onClick={() => leaveForm()}>
          Cancel
        </Button>
        <Button type="submit" disabled={!useCanCommand() || form.name.trim() === ''} loading={edit.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}

/** Offers the editors that the machine of the orchestrator has. */
function EditorField({ value, set }: { value: string; set: (editor: string) => void }) {
  const { data: editors = [] } = useQuery(editorsQuery);
  const first = editors[0];
  return (
    <Autocomplete
      label="Editor for worktrees"
      description={`A command that gets the path of the worktree. Empty: ${first === undefined ? 'the first known editor on PATH; none was found' : first}.`}
      data={editors}
      value={value}
      onChange={set}
      styles={{ input: { fontFamily: 'var(--font-code)' } }}
    />
  );
}

function RemoveProject({ project }: { project: Project }) {
  const [asked, setAsked] = useState(false);
  const closeForm = useBoardUi((ui) => ui.closeForm);
  const remove = useRemoveProject(project.name, closeForm);
  return (
    <>
      <Button
        className={css.first}
        variant="subtle"
        color="gray"
        disabled={!useCanCommand()}
        onClick={() => setAsked(true)}
      >
        Remove project
      </Button>
      <Confirm
        opened={asked}
        title={`Remove ${project.name}`}
        text="Callboard forgets the project. Its repository stays as it is. A project that has stages cannot be removed."
        verb="Remove"
        busy={remove.isPending}
        confirm={() => remove.mutate(project.id, { onSettled: () => setAsked(false) })}
        close={() => setAsked(false)}
      />
    </>
  );
}
