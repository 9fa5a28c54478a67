import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useTakeOutPlaceholders } from '../api/completion.ts';
import css from './finish.module.css';

interface PlaceholdersNoteProps {
  stage: StageView;
  /** Files of the branch that only the sandbox had put there. */
  files: readonly string[];
  /** Reads the branch again. */
  onTakenOut: () => void;
}

/** Says which files of the branch are only placeholders of Claude Code's sandbox, and takes them out. */
export function PlaceholdersNote({ stage, files, onTakenOut }: PlaceholdersNoteProps) {
  const takeOut = useTakeOutPlaceholders(stage, onTakenOut);
  const canCommand = useCanCommand();
  if (files.length === 0) return null;
  const what = files.length === 1 ? '1 file' : `${files.length} files`;
  return (
    <section className={css.finish} aria-label="Placeholders of the sandbox">
      <p className={css.line}>
        {what} on this branch {files.length === 1 ? 'is' : 'are'} not the project’s: Claude Code’s sandbox had put{' '}
        {files.length === 1 ? 'it' : 'them'} there for a moment, empty, and{' '}
        {files.length === 1 ? 'it was' : 'they were'} committed by mistake.
      </p>
      <ul className={css.files}>
        {files.map((file) => (
          <li key={file}>
            <code>{file}</code>
          </li>
        ))}
      </ul>
      {takeOut.isError && <ErrorNote lead="Nothing was taken out." error={takeOut.error} stageId={stage.id} />}
      <div className={css.actions}>
        <Button disabled={!canCommand} loading={takeOut.isPending} onClick={() => takeOut.mutate(undefined)}>
          Take {files.length === 1 ? 'it' : 'them'} out
        </Button>
      </div>
    </section>
  );
}
