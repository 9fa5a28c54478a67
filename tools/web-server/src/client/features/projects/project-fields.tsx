import type { Project, ProjectId, ProjectPatch, WorkspaceKey } from '@callboard/contract';
import { Button, Checkbox, Group, NativeSelect, NumberInput, Select, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trustDialog } from '../../data/dialogs.ts';
import { useLostAfterProblem, useMachineChoice } from '../../data/machines.ts';
import { boardQuery } from '../../data/queries.ts';
import { useUnsaved } from '../../data/unsaved-forms.ts';
import {
  fromFile,
  readWorkspaceForm,
  type WorkspaceErrors,
  type WorkspaceForm,
  workspaceFormOf,
} from '../../lib/stage-form.ts';
import { effortOptions, isFileAgreed, MODE_OPTIONS } from '../../lib/stage-options.ts';
import { Columns, Hint, Indented } from '../../ui/primitives.tsx';
import { SandboxSupportNote } from '../../ui/sandbox-support-note.tsx';
import { type SandboxForm, sandboxProblems } from './project-form.ts';

const CODE = { input: { fontFamily: 'var(--font-code)' } };
const SAID = 'Set by callboard.yaml.';

/** What is typed of what a project runs in its worktrees, and of what its new stages begin with. */
export function useWorkspaceFields(project: Project) {
  const [form, setForm] = useState(() => workspaceFormOf(project));
  const [errors, setErrors] = useState<WorkspaceErrors>({});
  const unsaved = useUnsaved('worktrees', form);
  const decided = fromFile(project);
  const set = (change: Partial<WorkspaceForm>) => setForm((old) => ({ ...old, ...change }));
  const fields: FieldsProps = { form, set, errors, decided };
  return {
    ...unsaved,
    fields,
    /** Null if something cannot be read: its field says why. */
    read(): ProjectPatch | null {
      const read = readWorkspaceForm(form, decided);
      setErrors('errors' in read ? read.errors : {});
      return 'errors' in read ? null : { settings: read.settings };
    },
  };
}

/** What `callboard.yaml` has to do with the fields below. */
export function FileState({ project }: { project: Project }) {
  const { id, file } = project;
  if (file === null)
    return (
      <Hint>
        A file <code>callboard.yaml</code> in the repository can set the same for everyone who works on it, and
        overrides what is set here.
      </Hint>
    );
  if (file.problems.length > 0)
    return (
      <div role="alert">
        <Text size="row" data-tone="fail">
          callboard.yaml cannot be used, and no stage starts until it is fixed.
        </Text>
        <ul className="bullets">
          {file.problems.map(({ line, key, message }) => (
            <li key={`${line} ${key} ${message}`}>
              Line {line}
              {key !== '' && (
                <>
                  , <code>{key}</code>
                </>
              )}
              : {message}
            </li>
          ))}
        </ul>
      </div>
    );
  const isAgreed = isFileAgreed(project);
  return (
    <Group justify="space-between" wrap="nowrap">
      <Hint>
        callboard.yaml sets some of this.{' '}
        {isAgreed ? 'You have agreed to what it runs.' : 'None of it runs until you agree.'}
      </Hint>
      {!isAgreed && (
        <Button variant="default" onClick={() => trustDialog.open({ projectId: id })}>
          Review
        </Button>
      )}
    </Group>
  );
}

interface FieldsProps {
  form: WorkspaceForm;
  set: (change: Partial<WorkspaceForm>) => void;
  errors: WorkspaceErrors;
  decided: ReadonlySet<WorkspaceKey>;
}

/** What a field says below its label, and whether it can be changed. */
const reported = (isDecided: boolean, description: string) => ({
  disabled: isDecided,
  description: isDecided ? SAID : description,
});

/** The commands before and after Claude. */
export function CommandFields({ form, set, errors, decided }: FieldsProps) {
  return (
    <>
      <Columns min={240}>
        <TextInput
          label="Set-up command"
          {...reported(decided.has('setup'), 'Before Claude starts, such as npm ci.')}
          value={form.setup}
          onChange={(event) => set({ setup: event.currentTarget.value })}
          styles={CODE}
        />
        <TextInput
          label="Set-up time limit, in minutes"
          {...reported(decided.has('setup'), 'Without one, 20 minutes.')}
          inputMode="numeric"
          value={form.setupMinutes}
          error={errors.setupMinutes}
          onChange={(event) => set({ setupMinutes: event.currentTarget.value })}
        />
      </Columns>
      <TextInput
        label="Clean-up command"
        {...reported(
          decided.has('cleanup'),
          'Runs in the worktree when its stage is done, such as docker compose down.',
        )}
        value={form.cleanup}
        onChange={(event) => set({ cleanup: event.currentTarget.value })}
        styles={CODE}
      />
    </>
  );
}

/** Dev servers and caches. */
export function ServerFields({ form, set, errors, decided }: FieldsProps) {
  return (
    <Columns min={240}>
      <Textarea
        label="Dev servers"
        {...reported(decided.has('devServers'), 'One per line, such as web: npm run dev. Its port is in PORT.')}
        autosize
        minRows={2}
        maxRows={8}
        value={form.servers}
        error={errors.servers}
        onChange={(event) => set({ servers: event.currentTarget.value })}
        styles={CODE}
      />
      <Textarea
        label="Caches"
        {...reported(decided.has('caches'), 'Writable folders in your home, such as ~/.gradle.')}
        autosize
        minRows={2}
        maxRows={8}
        value={form.caches}
        error={errors.caches}
        onChange={(event) => set({ caches: event.currentTarget.value })}
        styles={CODE}
      />
    </Columns>
  );
}

/** What new stages begin with. */
export function BeginFields({ form, set, errors, decided }: FieldsProps) {
  const isSaid = decided.has('defaults');
  return (
    <>
      <TextInput
        label="New stages begin at"
        {...reported(decided.has('base'), 'A branch, tag or commit. Leave empty to use the main checkout’s branch.')}
        value={form.base}
        error={errors.base}
        onChange={(event) => set({ base: event.currentTarget.value })}
        styles={CODE}
      />
      <Checkbox
        label="Fetch first"
        {...reported(
          decided.has('fetch'),
          'Stages then start from the remote’s latest commit. Offline, they wait for you.',
        )}
        checked={form.fetch}
        onChange={(event) => set({ fetch: event.currentTarget.checked })}
      />
      <Columns min={240}>
        <TextInput
          label="Model of new stages"
          {...reported(isSaid, 'Empty: the default of Claude Code.')}
          value={form.model}
          onChange={(event) => set({ model: event.currentTarget.value })}
        />
        <Select
          label="Effort of new stages"
          {...reported(isSaid, 'How much Claude thinks.')}
          data={effortOptions(null, null, form.effort === '' ? null : form.effort).concat(
            form.effort === '' ? [] : [{ value: '', label: 'Default effort' }],
          )}
          value={form.effort}
          onChange={(effort) => set({ effort: effort ?? '' })}
          allowDeselect={false}
        />
        <Select
          label="Mode of new stages"
          description="Cannot be set in callboard.yaml."
          data={[
            { value: '', label: 'Ask before edits and commands (default)' },
            ...MODE_OPTIONS.filter(({ value }) => value !== 'default'),
          ]}
          value={form.mode}
          onChange={(mode) => set({ mode: mode ?? '' })}
          allowDeselect={false}
        />
      </Columns>
    </>
  );
}

/** Where the stages of the project run, if there is a choice. */
export function MachineField({ projectId, value, set }: MachineFieldProps) {
  const choice = useMachineChoice(projectId, value);
  if (choice === null) return null;
  return (
    <NativeSelect
      label="Machine"
      description="Stages of this project start only there, unless a stage says otherwise. Stages that have started stay where they are."
      data={[{ value: '', label: 'Any machine' }, ...choice.options]}
      value={choice.value}
      error={choice.problem}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}

interface MachineFieldProps {
  projectId: ProjectId;
  value: string;
  set: (machine: string) => void;
}

/** After what time a machine is declared lost without a person, if there are several. */
export function LostAfterField({ projectId, value, set }: LostAfterFieldProps) {
  const problem = useLostAfterProblem(projectId, value);
  if (problem === null) return null;
  return (
    <NumberInput
      label="Declare a machine lost after, in minutes"
      description="A machine that does not answer for this long loses its stages, which can then be started elsewhere, if every project with unfinished stages there has such a time. Leave empty to decide yourself."
      min={2}
      allowDecimal={false}
      hideControls
      value={value}
      error={problem === '' ? null : problem}
      onChange={(minutes) => set(String(minutes))}
    />
  );
}

interface LostAfterFieldProps {
  projectId: ProjectId;
  /** As typed. */
  value: string;
  set: (minutes: string) => void;
}

interface SandboxFieldsProps {
  form: SandboxForm;
  set: (change: Partial<SandboxForm>) => void;
}

/** Whether Claude's commands run in the sandbox, and what they can reach from there. */
export function SandboxFields({ form, set }: SandboxFieldsProps) {
  const problems = sandboxProblems(form);
  const { data: support } = useQuery({ ...boardQuery, select: (view) => view.sandbox });
  return (
    <>
      <Checkbox
        label="Run Claude’s commands in a sandbox"
        description="They can write only to the worktree, cannot approve their own requests, and ask before they use the network. If tests need a database or Docker, allow its hosts and sockets below, or turn this off. Takes effect when a stage next starts."
        checked={form.sandbox === true}
        onChange={(event) => set({ sandbox: event.currentTarget.checked })}
      />
      {form.sandbox === true && support !== undefined && <SandboxSupportNote support={support} />}
      {form.sandbox === true && (
        <Indented>
          <Checkbox
            label="Fewer questions"
            description="Commands in the sandbox run without asking. They still ask to use the network or to leave the sandbox."
            checked={form.autoAllow}
            onChange={(event) => set({ autoAllow: event.currentTarget.checked })}
          />
          <Columns min={240}>
            <Textarea
              label="Hosts to reach without asking"
              description="One per line, such as packages.example.com or *.example.com."
              autosize
              minRows={2}
              maxRows={6}
              value={form.hosts}
              error={problems.hosts}
              styles={CODE}
              onChange={(event) => set({ hosts: event.currentTarget.value })}
            />
            <Textarea
              label="Sockets to connect to"
              description="One path per line. On Linux, one socket opens them all: forged answers are then noticed, not prevented."
              autosize
              minRows={2}
              maxRows={6}
              value={form.sockets}
              error={problems.sockets}
              styles={CODE}
              onChange={(event) => set({ sockets: event.currentTarget.value })}
            />
          </Columns>
        </Indented>
      )}
    </>
  );
}
