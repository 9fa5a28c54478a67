import type { StageDiff, StageView } from '@callboard/contract';
import { ActionIcon, Button } from '@mantine/core';
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
import { Counts } from './file-change.tsx';
import css from './stage-changes.module.css';

interface ChangesHeadProps {
  stage: StageView;
  diff: StageDiff;
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
        <span className={css.against}>
          compared with <Base stage={stage} base={diff.base} />, including uncommitted changes
        </span>
      </p>
      <div className={css.tools}>
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
