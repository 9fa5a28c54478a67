import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { Note } from '../../../ui/note.tsx';
import { useBoardUi } from '../model/board-ui.ts';
import { countWords } from '../model/git-setting-words.ts';
import boardCss from './board.module.css';
import css from './git-settings-review.module.css';

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
