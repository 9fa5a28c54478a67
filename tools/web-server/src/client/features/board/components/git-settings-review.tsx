import type { Project } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { HiddenNote, Seen } from '../../../ui/seen.tsx';
import { useAgreeGitSettings } from '../api/use-board-commands.ts';
import { kindLabel } from '../model/git-setting-words.ts';
import formCss from './forms.module.css';
import css from './git-settings-review.module.css';

/** Lists a project's new git settings, with the button that agrees to exactly these. */
export function GitSettingsReview({ project: { id, name, gitSettings } }: { project: Project }) {
  const agree = useAgreeGitSettings(id);
  const canCommand = useCanCommand();
  if (!gitSettings.needed)
    return <p className={formCss.about}>You have agreed to every git setting and hook of {name} that runs programs.</p>;
  return (
    <div className={formCss.form}>
      <p>
        Added since you registered {name}. Callboard leaves these off when it runs git, until you agree. Agree if you
        recognize them; otherwise remove them from the files named here. Of a hook, only the beginning is shown.
      </p>
      <HiddenNote
        texts={gitSettings.items.flatMap(({ name: key, value, file }) =>
          [key, value, file].map((text) => [text, 'code'] as const),
        )}
      />
      <ul className={css.items}>
        {gitSettings.items.map(({ kind, name: key, value, file }) => (
          <li key={`${kind} ${key} ${value} ${file}`}>
            <div>
              {kindLabel[kind]}{' '}
              <span className={css.name}>
                <Seen text={key} kind="code" />
              </span>
            </div>
            <pre className={css.value}>
              <Seen text={value} kind="code" />
            </pre>
            <div className={css.file}>
              <Seen text={file} kind="code" />
            </div>
          </li>
        ))}
      </ul>
      {agree.isError && <ErrorNote lead="Nothing was changed." error={agree.error} />}
      <div className={formCss.end}>
        <Button disabled={!canCommand} loading={agree.isPending} onClick={() => agree.mutate(gitSettings.hash)}>
          Agree
        </Button>
      </div>
    </div>
  );
}
