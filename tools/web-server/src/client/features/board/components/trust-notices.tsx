import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { useTrustDialog, useTrustLater } from '../../../data/trust-query.ts';
import { Note } from '../../../ui/note.tsx';
import boardCss from './board.module.css';
import css from './git-settings-review.module.css';

/** Beneath the board's bar: projects whose own settings are off, since nobody has trusted them as they are. */
export function TrustNotices() {
  const { data: projects = [] } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.filter(({ trust }) => trust.needed),
  });
  const { hashes } = useTrustLater();
  return projects
    .filter(({ id, trust }) => hashes[id] !== trust.hash)
    .map(({ id, name }) => (
      <div key={id} className={boardCss.warning}>
        <Note>
          <div className={css.notice}>
            <span>
              {name} has settings of its own that can run programs or allow tools. They stay off until you trust them.
            </span>
            <Button
              variant="default"
              size="compact-md"
              aria-label={`Review the settings of ${name}`}
              onClick={() => useTrustDialog.getState().open({ projectId: id })}
            >
              Review
            </Button>
          </div>
        </Note>
      </div>
    ));
}
