import type { ProjectId, StageFolder } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { FailureNote, Note } from '../../../ui/note.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useEditProject } from '../api/use-board-commands.ts';
import css from './forms.module.css';

/** The folders whose stages follow their files, and what is wrong there. */
export function WatchedFolders({ projectId }: { projectId: ProjectId }) {
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
    <section className={css.watched} aria-label="Watched folders">
      <h3 className={css.sub}>Watched folders</h3>
      {watched.map((path) => (
        <div key={path} className={css.folder}>
          <code>{path}</code>
          <Button size="compact-sm" variant="default" disabled={!canCommand} onClick={() => stop(path)}>
            Stop watching {path}
          </Button>
          <Updates found={project?.stageFolders.find((one) => one.path === path)} />
        </div>
      ))}
      {edit.isError && <ErrorNote lead="It is still watched." error={edit.error} />}
    </section>
  );
}

function Updates({ found }: { found: StageFolder | undefined }) {
  if (found === undefined) return <span className={css.about}>Reading...</span>;
  const { problems, removed, kept, at } = found;
  return (
    <div className={css.news}>
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
        <span className={css.about}>
          No problems as of <TimeSince at={at} ago />
        </span>
      )}
    </div>
  );
}

const Lines = ({ lines }: { lines: readonly string[] }) => (
  <ul className={css.problems}>
    {lines.map((line) => (
      <li key={line}>{line}</li>
    ))}
  </ul>
);
