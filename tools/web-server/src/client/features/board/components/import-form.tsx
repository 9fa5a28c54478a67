import type { CommandReply, ProjectId } from '@callboard/contract';
import { Button, Checkbox, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { errorText } from '../../../lib/api-client.ts';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { FailureNote, Note } from '../../../ui/note.tsx';
import { useImportStages } from '../api/use-board-commands.ts';
import { leaveForm } from '../model/unsaved-forms.ts';
import css from './forms.module.css';
import { WatchedFolders } from './watched-folders.tsx';

/** Imports stages from a folder of Markdown files: all of them, or none if one is invalid. */
export function ImportForm({ projectId }: { projectId: ProjectId }) {
  const [path, setPath] = useState('');
  const [watch, setWatch] = useState(false);
  const run = useImportStages(projectId);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (path.trim() !== '') run.mutate({ path: path.trim(), watch });
  };
  return (
    <form className={css.form} onSubmit={submit} noValidate>
      <div className={css.others}>
        <Button variant="default" onClick={() => leaveForm({ kind: 'conversations', projectId })}>
          Continue a conversation...
        </Button>
        <Button variant="default" onClick={() => leaveForm({ kind: 'issues', projectId })}>
          Import issues...
        </Button>
      </div>
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
    </form>
  );
}

/** The unknown keys in the imported files. */
function Ignored({ ignored }: { ignored: CommandReply<'import_stages'>['ignored'] }) {
  if (ignored.length === 0) return null;
  return (
    <>
      {' '}
      Unknown keys, ignored:
      <ul className={css.problems}>
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
        <ul className={css.problems}>
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </FailureNote>
  );
}
