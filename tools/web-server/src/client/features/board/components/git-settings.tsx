import type { Project } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { errorText } from '../../../lib/api.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { boardQuery } from '../../../live/queries.ts';
import { FailureNote, Note } from '../../../ui/note.tsx';
import { HiddenNote, Seen } from '../../../ui/seen.tsx';
import { useAgreeGitSettings } from '../api/use-board-commands.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { countWords, kindWords } from '../model/git-setting-words.ts';
import boardCss from './board.module.css';
import formCss from './forms.module.css';
import css from './git-settings.module.css';

/** Beneath the board's bar: projects whose git settings would run something that nobody has agreed to. */
export function GitSettingsNotices() {
  const { data: projects = [] } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.filter(({ gitSettings }) => gitSettings.needed),
  });
  const { open } = useBoardUi.getState();
  return projects.map(({ id, name, gitSettings }) => (
    <div key={id} className={boardCss.warning}>
      <Note>
        <div className={css.notice}>
          <span>
            {name}: {countWords(gitSettings)} {gitSettings.items.length === 1 ? 'is' : 'are'} new and can run programs.
            Callboard leaves {gitSettings.items.length === 1 ? 'it' : 'them'} off until you agree.
          </span>
          <Button
            variant="default"
            size="compact-md"
            aria-label={`Review the git settings of ${name}`}
            onClick={() => open({ kind: 'project', projectId: id, tab: 'git' })}
          >
            Review
          </Button>
        </div>
      </Note>
    </div>
  ));
}

/** In the project's dialog: what they are, and the button that agrees to exactly these. */
export function GitSettingsReview({ project: { id, name, gitSettings } }: { project: Project }) {
  const agree = useAgreeGitSettings(id);
  const canCommand = useCanCommand();
  if (!gitSettings.needed)
    return <p className={formCss.about}>Every git setting and hook of {name} that runs programs is agreed to.</p>;
  return (
    <div className={formCss.form}>
      <p>
        Added since you registered {name}, and left off when Callboard itself calls git. Agree if you know them; if not,
        remove them from the files named here. Of a hook the beginning is shown.
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
              {kindWords[kind]}{' '}
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
      {agree.isError && <FailureNote>Nothing was agreed to. {errorText(agree.error)}</FailureNote>}
      <div className={formCss.end}>
        <Button disabled={!canCommand} loading={agree.isPending} onClick={() => agree.mutate(gitSettings.hash)}>
          Agree
        </Button>
      </div>
    </div>
  );
}
