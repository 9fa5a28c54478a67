import { type BranchCommit, type StageDiff, type StageView, visibleText } from '@callboard/contract';
import { ActionIcon, Button, NativeSelect } from '@mantine/core';
import {
  IconArrowsMaximize,
  IconArrowsMinimize,
  IconColumns2,
  IconLayoutList,
  IconListTree,
  IconRefresh,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { branchesQuery } from '../../../data/branches-query.ts';
import { count } from '../../../lib/format.ts';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useReviewUi } from '../model/review-ui.ts';
import { Counts } from './file-change.tsx';
import css from './stage-changes.module.css';

interface ChangesHeadProps {
  stage: StageView;
  diff: StageDiff;
  /** What `diff` is of; another one may have been chosen that is not read yet. */
  range: string;
  commits: readonly BranchCommit[];
  /** How many files were viewed. */
  viewed: number;
  isLoading: boolean;
  reload: () => void;
  isSplit: boolean;
  canSplit: boolean;
  toggleSplit: () => void;
  showsTree: boolean;
  toggleTree: () => void;
  areAllOpen: boolean;
  openAll: (open: boolean) => void;
}

/** How much has changed, compared with what, and how it is shown. */
export function ChangesHead({ stage, diff, isLoading, reload, areAllOpen, openAll, ...view }: ChangesHeadProps) {
  const { files } = diff;
  const sum = (of: 'additions' | 'deletions') => files.reduce((total, file) => total + file[of], 0);
  return (
    <div className={css.toolbar}>
      <p className={css.summary}>
        {files.length === 0 ? 'No changes' : count(files.length, 'file')}{' '}
        <Counts file={{ additions: sum('additions'), deletions: sum('deletions') }} />{' '}
        {files.length > 0 && (
          <span className={css.against}>
            · {view.viewed} of {files.length} viewed ·{' '}
          </span>
        )}
        <RangeText stage={stage} diff={diff} range={view.range} />
      </p>
      <div className={css.tools}>
        <RangeChoice stage={stage} commits={view.commits} />
        {files.length > 1 && (
          <ActionIcon
            variant={view.showsTree ? 'light' : 'subtle'}
            color="gray"
            aria-label="Show the tree of files"
            title="Tree of files"
            aria-pressed={view.showsTree}
            onClick={view.toggleTree}
          >
            <IconListTree size={16} />
          </ActionIcon>
        )}
        {files.length > 0 && (
          <Button
            size="compact-sm"
            fw={500}
            variant="subtle"
            color="gray"
            leftSection={areAllOpen ? <IconArrowsMinimize size={14} /> : <IconArrowsMaximize size={14} />}
            onClick={() => openAll(!areAllOpen)}
          >
            {areAllOpen ? 'Collapse all' : 'Expand all'}
          </Button>
        )}
        {view.canSplit && files.length > 0 && (
          <Button
            size="compact-sm"
            fw={500}
            variant="subtle"
            color="gray"
            leftSection={view.isSplit ? <IconLayoutList size={14} /> : <IconColumns2 size={14} />}
            onClick={view.toggleSplit}
          >
            {view.isSplit ? 'Inline' : 'Side by side'}
          </Button>
        )}
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label="Refresh"
          title="Refresh"
          loading={isLoading}
          onClick={reload}
        >
          <IconRefresh size={16} />
        </ActionIcon>
      </div>
    </div>
  );
}

/** What the changes are compared with. */
function RangeText({ stage, diff, range }: Pick<ChangesHeadProps, 'stage' | 'diff' | 'range'>) {
  if (range === '')
    return (
      <span className={css.against}>
        compared with <Base stage={stage} base={diff.base} />, including uncommitted changes
      </span>
    );
  if (range !== 'turn') return <span className={css.against}>in commit {range.slice(0, 7)}</span>;
  return (
    <span className={css.against}>
      {diff.since === null ? (
        'since the stage began'
      ) : (
        <>
          since the turn before ended, <TimeSince at={diff.since} ago />
        </>
      )}
    </span>
  );
}

/** All changes, those of the last turn, or those of one commit. */
function RangeChoice({ stage, commits }: { stage: StageView; commits: readonly BranchCommit[] }) {
  const range = useReviewUi((ui) => ui.range[stage.id] ?? '');
  if (stage.session === null) return null;
  const isGone = range !== '' && range !== 'turn' && !commits.some(({ id }) => id === range);
  return (
    <NativeSelect
      size="xs"
      className={css.range}
      aria-label="Which changes"
      value={range}
      onChange={(event) => useReviewUi.getState().setRange(stage.id, event.currentTarget.value)}
    >
      <option value="">All changes</option>
      <option value="turn">Last turn</option>
      {isGone && <option value={range}>Commit {range.slice(0, 7)}</option>}
      {commits.length > 0 && (
        <optgroup label="One commit">
          {commits.map(({ id, subject }) => (
            <option key={id} value={id}>
              {id.slice(0, 7)} {visibleText(subject, 'prose').slice(0, 60)}
            </option>
          ))}
        </optgroup>
      )}
    </NativeSelect>
  );
}

/** The branch of the main checkout, which a merge goes into, and the commit that both share. */
function Base({ stage, base }: { stage: StageView; base: string }) {
  const { data } = useQuery(branchesQuery(stage.projectId));
  const current = data?.current ?? null;
  return (
    <span title={base}>
      {current !== null && `${current} @ `}
      <code>{base.slice(0, 7)}</code>
    </span>
  );
}
