import type { CommandReply, ExportReply, Project, ProjectId, ProjectPatch, StageFolder } from '@callboard/contract';
import {
  Anchor,
  Autocomplete,
  Box,
  Button,
  Checkbox,
  Flex,
  Group,
  NumberInput,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, type FormEvent, type ReactNode, useEffect, useState } from 'react';
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
import { leaveForm, useUnsaved } from '../../data/unsaved-forms.ts';
import { errorText } from '../../lib/api-client.ts';
import { count } from '../../lib/format.ts';
import { kindLabel } from '../../lib/git-settings-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { BudgetRow } from '../../ui/budget-meter.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import { ErrorNote, FailureNote, Note } from '../../ui/notes.tsx';
import { Hint, Output } from '../../ui/primitives.tsx';
import { HiddenNote, Seen, TimeSince } from '../../ui/text.tsx';
import { PipelineFields, usePipelineFields } from '../pipelines/pipelines-form.tsx';
import { ProjectWorktrees } from '../worktrees/project-worktrees.tsx';
import {
  BeginFields,
  CommandFields,
  FileState,
  LostAfterField,
  MachineField,
  SandboxFields,
  ServerFields,
  useWorkspaceFields,
} from './project-fields.tsx';
import { minutesProblem, projectFormOf, readProjectForm } from './project-form.ts';

const SECTIONS = [
  'General',
  'New stages',
  'Worktrees',
  'Sandbox',
  'Pipelines',
  'Budget',
  'Rules',
  'Import and export',
  'Git settings',
] as const;
type SectionName = (typeof SECTIONS)[number];

const idOf = (name: SectionName) => `project-${name.replaceAll(' ', '-')}`;
const scrollTo = (name: SectionName) => document.getElementById(idOf(name))?.scrollIntoView();

interface ProjectFormsProps {
  projectId: ProjectId;
  /** The section to begin at; undefined for the top. */
  section?: SectionName | undefined;
  RulesSlot: ComponentType<{ projectId: ProjectId }>;
}

/** Everything that can be done with a project, on one page. */
export function ProjectForms({ projectId, section, RulesSlot }: ProjectFormsProps) {
  const { data: project } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find((other) => other.id === projectId),
  });
  if (project === undefined) return <p>This project was removed from the board.</p>;
  return <ProjectSections project={project} first={section} RulesSlot={RulesSlot} />;
}

interface ProjectSectionsProps {
  project: Project;
  first: SectionName | undefined;
  RulesSlot: ProjectFormsProps['RulesSlot'];
}

function ProjectSections({ project, first, RulesSlot }: ProjectSectionsProps) {
  const { id } = project;
  const settings = useSettings(project);
  const { edit, form } = settings;
  const canCommand = useCanCommand();
  useEffect(() => {
    if (first !== undefined) scrollTo(first);
  }, [first]);
  return (
    <Flex gap="xl">
      <Box component="nav" aria-label="Sections" visibleFrom="sm" w={130} flex="none">
        <Stack gap={6} align="flex-start" pos="sticky" top={64}>
          {SECTIONS.map((name) => (
            <Anchor key={name} component="button" type="button" c="dimmed" fz="row" onClick={() => scrollTo(name)}>
              {name}
            </Anchor>
          ))}
        </Stack>
      </Box>
      <Stack gap={40} flex={1} miw={0}>
        <SettingsForm project={project} {...settings} />
        <Section name="Budget">
          <ProjectBudget projectId={id} />
        </Section>
        <Section name="Rules">
          <RulesSlot projectId={id} />
        </Section>
        <Section name="Import and export">
          <ExportForm projectId={id} />
          <ImportForm projectId={id} />
        </Section>
        <Section name="Git settings">
          <GitSettingsReview project={project} />
        </Section>
        <RemoveProject project={project} />
        <FormEnd>
          {edit.isError && (
            <Box w="100%">
              <ErrorNote lead="Nothing was changed." error={edit.error} />
            </Box>
          )}
          <Button variant="default" onClick={() => leaveForm()}>
            Cancel
          </Button>
          <Button type="submit" form={FORM} disabled={!canCommand || form.name.trim() === ''} loading={edit.isPending}>
            Save
          </Button>
        </FormEnd>
      </Stack>
    </Flex>
  );
}

function Section({ name, children }: { name: SectionName; children: ReactNode }) {
  const title = `${idOf(name)}-title`;
  return (
    <Flex component="section" direction="column" gap="lg" id={idOf(name)} aria-labelledby={title}>
      <Text component="h3" id={title} fz="var(--text-l)" fw={600}>
        {name}
      </Text>
      {children}
    </Flex>
  );
}

/** How much the stages of the project may spend. It is saved at once, not with the form. */
function ProjectBudget({ projectId }: { projectId: ProjectId }) {
  const scope = { projectId };
  return <BudgetRow budget={useBudget(scope)} change={() => budgetsDialog.open(scope)} />;
}

const FORM = 'project-settings';

/** What is typed of a project's settings. What was changed is sent, and nothing else: another device may have changed the rest. */
function useSettings(project: Project) {
  const [form, setForm] = useState(() => projectFormOf(project));
  const own = useUnsaved('settings', form);
  const workspace = useWorkspaceFields(project);
  const pipelines = usePipelineFields(project);
  const parts = [{ ...own, read: () => readProjectForm(form) }, workspace, pipelines];
  const edit = useEditProject(project.id, () => {
    notifications.show({ message: `${form.name.trim()} saved`, autoClose: 4_000 });
    for (const { saved } of parts) saved();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const changed = parts.filter(({ isUnsaved }) => isUnsaved);
    if (minutesProblem(form.minutes) !== null) return void scrollTo('General');
    if (changed.length === 0) return leaveForm();
    const patches = changed.flatMap(({ read }) => read() ?? []);
    if (patches.length < changed.length) return;
    for (const { submitting } of parts) submitting();
    edit.mutate(patches.reduce(joined));
  };
  const set = (change: Partial<typeof form>) => setForm((old) => ({ ...old, ...change }));
  return { form, set, workspace: workspace.fields, pipelines: pipelines.fields, edit, submit };
}

const joined = (one: ProjectPatch, other: ProjectPatch): ProjectPatch => ({
  ...one,
  ...other,
  settings: { ...one.settings, ...other.settings },
});

type SettingsFormProps = { project: Project } & ReturnType<typeof useSettings>;

function SettingsForm({ project, form, set, workspace, pipelines, submit }: SettingsFormProps) {
  return (
    <Flex component="form" direction="column" gap={40} id={FORM} onSubmit={submit} noValidate>
      <Section name="General">
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
          clampBehavior="none"
          hideControls
          value={form.minutes}
          error={minutesProblem(form.minutes)}
          onChange={(minutes) => set({ minutes: String(minutes) })}
        />
        <EditorField value={form.editor} set={(editor) => set({ editor })} />
        <MachineField projectId={project.id} value={form.machine} set={(machine) => set({ machine })} />
        <LostAfterField projectId={project.id} value={form.lostAfter} set={(lostAfter) => set({ lostAfter })} />
        <Checkbox
          label="Accept messages from other Claude Code sessions"
          description="Any session or program of this account can then write to Claude without your review. The transcript shows who wrote. Applies to sessions started from now on."
          checked={form.sessionMessages}
          onChange={(event) => set({ sessionMessages: event.currentTarget.checked })}
        />
      </Section>
      <Section name="New stages">
        <FileState project={project} />
        <BeginFields {...workspace} />
      </Section>
      <Section name="Worktrees">
        <CommandFields {...workspace} />
        <ServerFields {...workspace} />
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
        <ProjectWorktrees projectId={project.id} />
      </Section>
      <Section name="Sandbox">
        <SandboxFields form={form.sandbox} set={(change) => set({ sandbox: { ...form.sandbox, ...change } })} />
      </Section>
      <Section name="Pipelines">
        <PipelineFields project={project} {...pipelines} />
      </Section>
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
      <Button mr="auto" variant="default" disabled={!useCanCommand()} onClick={() => setAsked(true)}>
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
      <Group>
        <Button disabled={!canCommand} loading={agree.isPending} onClick={() => agree.mutate(gitSettings.hash)}>
          Agree
        </Button>
      </Group>
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
      <Group>
        <Button
          type="submit"
          variant="default"
          disabled={!useCanCommand() || path.trim() === ''}
          loading={run.isPending}
        >
          {run.isError ? 'Import again' : 'Import'}
        </Button>
      </Group>
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
      <h4>Watched folders</h4>
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
