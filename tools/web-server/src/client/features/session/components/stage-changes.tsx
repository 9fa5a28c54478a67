import { type StageDiff, type StageView, visibleText } from '@callboard/contract';
import { Button, Loader } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { errorText } from '../../../lib/api-client.ts';
import { count } from '../../../lib/format.ts';
import { FailureNote, Note } from '../../../ui/note.tsx';
import { stageDiffQuery } from '../api/stage-diff.ts';
import { FileChange } from './file-change.tsx';
import css from './stage-changes.module.css';

/** The stage's changes against its base, committed or not, file by file. */
export function StageChanges({ stage }: { stage: StageView }) {
  const { data, error, isFetching, refetch } = useQuery({
    ...stageDiffQuery(stage.id),
    enabled: stage.worktree !== null,
  });
  return (
    <section className={css.changes} aria-label="Changes">
      <div className={css.inner}>
        <div className={css.summary}>
          <span>
            {stage.worktree === null ? 'Nothing was started, so nothing has changed.' : data && summary(data)}
          </span>
          {stage.worktree !== null && (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconRefresh size={14} />}
              loading={isFetching && data !== undefined}
              onClick={() => void refetch()}
            >
              Refresh
            </Button>
          )}
        </div>
        {error !== null && <FailureNote>The changes could not be read. {errorText(error)}</FailureNote>}
        {data === undefined && isFetching && <Loader size="sm" color="gray" aria-label="Reading the changes" />}
        {data !== undefined && data.unread.length > 0 && (
          <Note>
            Git cannot read these, so they are neither shown nor merged:{' '}
            {visibleText(data.unread.join(', '), 'command')}
          </Note>
        )}
        {data?.files.map((file) => (
          <FileChange key={file.path} stageId={stage.id} diff={data} file={file} />
        ))}
      </div>
    </section>
  );
}

function summary({ files, base }: StageDiff) {
  if (files.length === 0) return 'No changes.';
  const added = files.reduce((sum, file) => sum + file.additions, 0);
  const removed = files.reduce((sum, file) => sum + file.deletions, 0);
  return `${count(files.length, 'file')}, +${added} −${removed}, compared with ${base.slice(0, 7)}, including uncommitted changes`;
}
