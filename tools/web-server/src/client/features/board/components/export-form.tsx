import type { ExportReply, ProjectId } from '@callboard/contract';
import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Note } from '../../../ui/note.tsx';
import { useExportStages } from '../api/use-board-commands.ts';
import css from './forms.module.css';

/** Writes the stages of a project into a folder of Markdown files. */
export function ExportForm({ projectId }: { projectId: ProjectId }) {
  const [path, setPath] = useState('');
  const run = useExportStages(projectId);
  const canCommand = useCanCommand();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (path.trim() !== '') run.mutate(path.trim());
  };
  return (
    <form className={css.form} onSubmit={submit} noValidate>
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
      <div className={css.others}>
        <Button type="submit" variant="default" disabled={!canCommand || path.trim() === ''} loading={run.isPending}>
          Export
        </Button>
      </div>
    </form>
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
          <ul className={css.problems}>
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
