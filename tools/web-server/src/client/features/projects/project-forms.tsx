import type { CommandReply, ExportReply, Project, ProjectId, StageFolder } from '@callboard/contract';
import {
  Autocomplete,
  Button,
  Checkbox,
  Flex,
  Group,
  NumberInput,
  Stack,
  Tabs,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, type FormEvent, useState } from 'react';
import { Link } from 'react-router';
import {
  editorsQuery,
  useAgreeGitSettings,
  useEditProject,
  useExportStages,
  useImportStages,
  useRemoveProject,
} from '../../data/board-commands.ts';
import { useBoardUi } from '../../data/board-ui.ts';
import { useBudget } from '../../data/budget-data.ts';
import { budgetsDialog } from '../../data/dialogs.ts';
import { boardQuery } from '../../data/queries.ts';
import { leaveForm, useUnsaved, useUnsavedForms } from '../../data/unsaved-forms.ts';
import { errorText } from '../../lib/api-client.ts';
import { count } from '../../lib/format.ts';
import { kindLabel } from '../../lib/git-settings-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { BudgetRow } from '../../ui/budget-meter.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import css from '../../ui/forms.module.css';
import { ErrorNote, FailureNote, Note } from '../../ui/notes.tsx';
import { Hint, Output } from '../../ui/primitives.tsx';
import { HiddenNote, Seen, TimeSince } from '../../ui/text.tsx';
import { PipelinesForm } from '../pipelines/pipelines-form.tsx';
import { ProjectWorktrees } from '../worktrees/project-worktrees.tsx';
import { LostAfterField, MachineField, SandboxFields, WorkspaceSettingsForm } from './project-fields.tsx';
import { projectFormOf, readProjectForm } from './project-form.ts';

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
        <Stack gap="lg">
          <ExportForm projectId={projectId} />
          <ImportForm projectId={projectId} />
        </Stack>
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
    <Flex component="section" direction="column" gap="sm" pb="lg" aria-labelledby="project-budget">
      <h3 id="project-budget">Budget</h3>
      <BudgetRow budget={useBudget(scope)} change={() => budgetsDialog.open(scope)} />
    </Flex>
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
    <Flex component="form" direction="column" gap="lg" onSubmit={submit} noValidate>
      <TextInput
        label="Name"
        description={
          <>
            Repository: <code>{project.path}</code>
          </>
        }
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
      <Checkbox
        label="Keep a worktree ready for the next stage"
        description="Of a repository with 500 files or more: stages start sooner, and one more checkout takes space."
        checked={form.spareWorktree}
        onChange={(event) => set({ spareWorktree: event.currentTarget.checked })}
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
      <ProjectBudget projectId={project.id} />
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
    </Flex>
  );
}

/** Offers the editors that the machine of the orchestrator has. */
function EditorField({ value, set }: { value: string; set: (editor: string) => void }) {
  const { data: editors = [] } = useQuery(editorsQuery);
  const first = editors[0];
  return (
    <Autocomplete
      label="Editor for worktrees"
      description={`A command that gets the path of the worktree. Leave empty to ${first === undefined ? 'detect one (none found)' : `use ${first}`}.`}
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
      <Button mr="auto" variant="subtle" color="gray" disabled={!useCanCommand()} onClick={() => setAsked(true)}>
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

/** Writes the stages of a project into a folder of Markdown files. */
function ExportForm({ projectId }: { projectId: ProjectId }) {
  const [path, setPath] = useState('');
  const run = useExportStages(projectId);
  const canCommand = useCanCommand();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (path.trim() !== '') run.mutate(path.trim());
  };
  return (
    <Flex component="form" direction="column" gap="lg" onSubmit={submit} noValidate>
      <TextInput
        label="Export to a folder"
        description="One file per stage. Mode, pipeline and finish are written only to new files; custom phases are not written at all. Files that you have changed since are left alone."
        placeholder="docs/stages"
        value={path}
        onChange={(event) => setPath(event.currentTarget.value)}
        styles={{ input: { fontFamily: 'var(--font-code)' } }}
      />
      {run.isError && <ErrorNote lead="Not all stages were written." error={run.error} />}
      {run.isSuccess && <Exported reply={run.data} />}
      <Group>
        <Button type="submit" variant="default" disabled={!canCommand || path.trim() === ''} loading={run.isPending}>
          Export
        </Button>
      </Group>
    </Flex>
  );
}

const REASONS: Readonly<Record<ExportReply['kept'][number]['reason'], string>> = {
  changed: 'was changed since, so it was left alone. Import it first',
  'another-stage': 'is no file of this stage, so it was left alone',
  command: 'was not written: the stage runs a command, which a file cannot say',
};

function Exported({ reply: { folder, written, unchanged, kept } }: { reply: ExportReply }) {
  return (
    <div role="status">
      <Note>
        {count(written.length, 'file')} written to <code>{folder}</code>, {unchanged} unchanged.
        {kept.length > 0 && (
          <ul className="bullets">
            {kept.map(({ file, reason }) => (
              <li key={file}>
                <code>{file}</code> {REASONS[reason]}
              </li>
            ))}
          </ul>
        )}
      </Note>
    </div>
  );
}

/** Lists a project's new git settings, with the button that agrees to exactly these. */
function GitSettingsReview({ project: { id, name, gitSettings } }: { project: Project }) {
  const agree = useAgreeGitSettings(id);
  const canCommand = useCanCommand();
  if (!gitSettings.needed)
    return <Hint>You have agreed to every git setting and hook of {name} that runs programs.</Hint>;
  return (
    <Stack gap="lg">
      <p>
        Added since you registered {name}. Callboard leaves these off when it runs git, until you agree. Agree if you
        recognize them; otherwise remove them from the files named here. Of a hook, only the beginning is shown.
      </p>
      <HiddenNote
        texts={gitSettings.items.flatMap(({ name: key, value, file }) =>
          [key, value, file].map((text) => [text, 'code'] as const),
        )}
      />
      <ul>
        {gitSettings.items.map(({ kind, name: key, value, file }) => (
          <Flex component="li" direction="column" gap="xs" py="sm" key={`${kind} ${key} ${value} ${file}`}>
            <div>
              {kindLabel[kind]}{' '}
              <code>
                <Seen text={key} kind="code" />
              </code>
            </div>
            <Output>
              <Seen text={value} kind="code" />
            </Output>
            <Hint>
              <Seen text={file} kind="code" />
            </Hint>
          </Flex>
        ))}
      </ul>
      {agree.isError && <ErrorNote lead="Nothing was changed." error={agree.error} />}
      <div className={css.end}>
        <Button disabled={!canCommand} loading={agree.isPending} onClick={() => agree.mutate(gitSettings.hash)}>
          Agree
        </Button>
      </div>
    </Stack>
  );
}

/** Imports stages from a folder of Markdown files: all of them, or none if one is invalid. */
function ImportForm({ projectId }: { projectId: ProjectId }) {
  const [path, setPath] = useState('');
  const [watch, setWatch] = useState(false);
  const run = useImportStages(projectId);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (path.trim() !== '') run.mutate({ path: path.trim(), watch });
  };
  return (
    <Flex component="form" direction="column" gap="lg" onSubmit={submit} noValidate>
      <Group>
        <Button variant="default" onClick={() => leaveForm({ kind: 'conversations', projectId })}>
          Continue a conversation...
        </Button>
        <Button variant="default" onClick={() => leaveForm({ kind: 'issues', projectId })}>
          Import issues...
        </Button>
      </Group>
      <TextInput
        label="Folder or file"
        description="Markdown files, one stage each, with id and title between --- lines. Relative to the repository, absolute, or from ~."
        placeholder="docs/stages"
        value={path}
        onChange={(event) => setPath(event.currentTarget.value)}
        styles={{ input: { fontFamily: 'var(--font-code)' } }}
        required
      />
      <Checkbox
        label="Watch this folder"
        description="Changed files update their stages, new files make stages. Modes, pipelines and automatic starts and finishes are updated only when you import. A started stage keeps its prompt."
        checked={watch}
        onChange={(event) => setWatch(event.currentTarget.checked)}
      />
      {run.isError && <ImportProblems text={errorText(run.error)} />}
      {run.isSuccess && (
        <div role="status">
          <Note>
            {count(run.data.created, 'stage')} created, {run.data.updated} updated.
            <Ignored ignored={run.data.ignored} />
          </Note>
        </div>
      )}
      <WatchedFolders projectId={projectId} />
      <div className={css.end}>
        <Button variant="default" onClick={() => leaveForm()}>
          Close
        </Button>
        <Button type="submit" disabled={!useCanCommand() || path.trim() === ''} loading={run.isPending}>
          {run.isError ? 'Import again' : 'Import'}
        </Button>
      </div>
    </Flex>
  );
}

/** The unknown keys in the imported files. */
function Ignored({ ignored }: { ignored: CommandReply<'import_stages'>['ignored'] }) {
  if (ignored.length === 0) return null;
  return (
    <>
      {' '}
      Unknown keys, ignored:
      <ul className="bullets">
        {ignored.map(({ file, keys }) => (
          <li key={file}>
            <code>{keys.join(', ')}</code> in {file}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The first line says what happened. Each further line is something to fix. */
function ImportProblems({ text }: { text: string }) {
  const [first, ...problems] = text.split('\n').filter((line) => line.trim() !== '');
  return (
    <FailureNote>
      {first}
      {problems.length > 0 && (
        <ul className="bullets">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </FailureNote>
  );
}

/** The folders whose stages follow their files, and what is wrong there. */
function WatchedFolders({ projectId }: { projectId: ProjectId }) {
  const { data: project } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === projectId),
  });
  const canCommand = useCanCommand();
  const edit = useEditProject(projectId, () => undefined);
  const watched = project?.settings.stageFolders ?? [];
  if (watched.length === 0) return null;
  const stop = (path: string) => edit.mutate({ settings: { stageFolders: watched.filter((one) => one !== path) } });
  return (
    <Flex component="section" direction="column" gap="sm" aria-label="Watched folders">
      <h3>Watched folders</h3>
      {watched.map((path) => (
        <Group justify="space-between" key={path}>
          <code>{path}</code>
          <Button size="compact-sm" variant="default" disabled={!canCommand} onClick={() => stop(path)}>
            Stop watching {path}
          </Button>
          <Updates found={project?.stageFolders.find((one) => one.path === path)} />
        </Group>
      ))}
      {edit.isError && <ErrorNote lead="It is still watched." error={edit.error} />}
    </Flex>
  );
}

function Updates({ found }: { found: StageFolder | undefined }) {
  if (found === undefined) return <Hint>Reading...</Hint>;
  const { problems, removed, kept, at } = found;
  return (
    <Stack w="100%">
      {problems.length > 0 && (
        <FailureNote>
          These files have no effect until they are fixed:
          <Lines lines={problems} />
        </FailureNote>
      )}
      {removed.length > 0 && (
        <Note>
          Files that are gone. Their stages stay:
          <Lines lines={removed} />
        </Note>
      )}
      {kept.length > 0 && (
        <Note>
          Started, so they keep the prompt they began with:{' '}
          {kept.map((id) => (
            <Link key={id} to={`/stages/${id}`}>
              {id}{' '}
            </Link>
          ))}
        </Note>
      )}
      {problems.length + removed.length + kept.length === 0 && (
        <Hint>
          No problems as of <TimeSince at={at} ago />
        </Hint>
      )}
    </Stack>
  );
}

const Lines = ({ lines }: { lines: readonly string[] }) => (
  <ul className="bullets">
    {lines.map((line) => (
      <li key={line}>{line}</li>
    ))}
  </ul>
);
