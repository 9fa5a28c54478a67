import { NewProject } from '@callboard/contract';
import { Button, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type FormEvent, useState } from 'react';
import { useTrustDialog } from '../../../data/trust-query.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useAddProject } from '../api/use-board-commands.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { newSandboxForm, readSandboxForm } from '../model/sandbox-form.ts';
import { FolderPicker } from './folder-picker.tsx';
import css from './forms.module.css';
import { SandboxFields } from './sandbox-fields.tsx';

/** Registers a git repository on Callboard's machine. */
export function AddProjectForm({ thenNewStage }: { thenNewStage: boolean }) {
  const [path, setPath] = useState('');
  const [name, setName] = useState('');
  const [sandbox, setSandbox] = useState(newSandboxForm);
  const [problem, setProblem] = useState<string | null>(null);
  const { open, closeForm } = useBoardUi.getState();
  const canCommand = useCanCommand();
  const add = useAddProject((project) => {
    // The trust dialog says so too, and on a phone the notification would cover it.
    if (!project.trust.needed) notifications.show({ message: `${project.name} was added`, color: 'gray' });
    if (thenNewStage) open({ kind: 'new-stage', projectId: project.id });
    else closeForm();
    if (project.trust.needed) useTrustDialog.getState().open({ projectId: project.id });
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setProblem(path.trim() === '' ? 'The path is empty.' : null);
    const given = { path, ...(name.trim() === '' ? {} : { name }), settings: readSandboxForm(sandbox) };
    const parsed = NewProject.safeParse(given);
    if (parsed.success) add.mutate(parsed.data);
  };
  return (
    <form className={css.form} onSubmit={submit} noValidate>
      <FolderPicker chosen={path} choose={setPath} />
      <TextInput
        label="Path"
        description="A git repository on Callboard’s machine. Pick it above or type its path; ~ is the home folder."
        placeholder="~/code/app"
        value={path}
        error={problem ?? add.isError}
        onChange={(event) => setPath(event.currentTarget.value)}
        styles={{ input: { fontFamily: 'var(--font-code)' } }}
        data-autofocus
        required
      />
      {problem === null && add.isError && <ErrorNote error={add.error} />}
      <TextInput
        label="Name"
        description="Defaults to the folder’s name."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <SandboxFields form={sandbox} set={(change) => setSandbox((old) => ({ ...old, ...change }))} />
      <div className={css.end}>
        <Button variant="default" onClick={closeForm}>
          Cancel
        </Button>
        <Button type="submit" disabled={!canCommand} loading={add.isPending}>
          Add project
        </Button>
      </div>
    </form>
  );
}
