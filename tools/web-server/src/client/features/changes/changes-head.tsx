import {
  type BranchCommit,
  countOf,
  type FileDiff,
  type StageDiff,
  type StageView,
  visibleText,
} from '@callboard/contract';
import { ActionIcon, Anchor, Box, Button, Group, NativeSelect, Text } from '@mantine/core';
import {
  IconArrowsMaximize,
  IconArrowsMinimize,
  IconChevronRight,
  IconColumns2,
  IconLayoutList,
  IconListTree,
  IconRefresh,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { memo } from 'react';
import { branchesQuery } from '../../data/queries.ts';
import { count } from '../../lib/format.ts';
import { pathText } from '../../lib/tool-text.ts';
import { Hint, RowButton, Strip } from '../../ui/primitives.tsx';
import { HiddenNote, Seen, TimeSince } from '../../ui/text.tsx';
import { useReviewUi } from './line-selection.ts';
import css from './stage-changes.module.css';
import {
  type ChangesListState,
  emptyText,
  isDrawing,
  kindLabel,
  STATUS_TEXTS,
  statusLetter,
  unseenText,
} from './use-changes-list.ts';

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
  const counts = countOf(diff);
  return (
    <Strip direction="row" wrap="wrap" align="center" justify="space-between" gap="4px 16px" py={6} pr="sm">
      <Text size="row" miw={0}>
        {files.length === 0 ? 'No changes' : count(files.length, 'file')} <Counts file={counts} />{' '}
        {files.length > 0 && (
          <Text span inherit c="dimmed">
            · {view.viewed} of {files.length} viewed ·{' '}
          </Text>
        )}
        <RangeText stage={stage} diff={diff} range={view.range} />
      </Text>
      <Group gap={2} ml="auto">
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
      </Group>
    </Strip>
  );
}

/** What the changes are compared with. */
function RangeText({ stage, diff, range }: Pick<ChangesHeadProps, 'stage' | 'diff' | 'range'>) {
  if (range === '')
    return (
      <Text span inherit c="dimmed">
        compared with <Base stage={stage} base={diff.base} />, including uncommitted changes
      </Text>
    );
  if (range !== 'turn')
    return (
      <Text span inherit c="dimmed">
        in commit {range.slice(0, 7)}
      </Text>
    );
  return (
    <Text span inherit c="dimmed">
      {diff.since === null ? (
        'since the stage began'
      ) : (
        <>
          since the turn before ended, <TimeSince at={diff.since} ago />
        </>
      )}
    </Text>
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
      maw={180}
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

interface FileHeadProps {
  file: FileDiff;
  list: Pick<
    ChangesListState,
    'isOpen' | 'setOpen' | 'isViewed' | 'setViewed' | 'isWhole' | 'showWhole' | 'isImage' | 'showText'
  >;
  /** The copy that stays at the top while the file is in view; only for the eye and the pointer. */
  isCopy?: boolean;
}

/** A file's name, kind and counts. It opens and folds the file, and ticks it as viewed. */
export function FileHead({ file, list, isCopy = false }: FileHeadProps) {
  const isOpen = list.isOpen(file);
  const isViewed = list.isViewed(file);
  const kind = kindLabel(file);
  const Heading = isCopy ? 'div' : 'h2';
  return (
    <div className={css.head}>
      <Heading>
        <RowButton
          px="xs"
          aria-expanded={isOpen}
          tabIndex={isCopy ? -1 : undefined}
          onClick={() => list.setOpen(file, !isOpen)}
        >
          <IconChevronRight size={14} color="var(--muted)" aria-hidden />
          <StatusLetter file={file} />
          <Text span ff="monospace" size="xs" truncate c={isViewed ? 'dimmed' : undefined} title={pathText(file.path)}>
            {file.oldPath !== null && (
              <>
                <Seen text={file.oldPath} kind="command" />
                {' → '}
              </>
            )}
            <Seen text={file.path} kind="command" />
          </Text>
          {kind !== null && (
            <Hint span size="xs" flex="none">
              {kind}
            </Hint>
          )}
        </RowButton>
      </Heading>
      <Counts file={file} />
      {isOpen && isDrawing(file) && (
        <Anchor
          component="button"
          type="button"
          size="xs"
          inherit={false}
          flex="none"
          tabIndex={isCopy ? -1 : undefined}
          aria-label={`Show ${pathText(file.path)} as ${list.isImage(file) ? 'text' : 'an image'}`}
          onClick={() => list.showText(file, list.isImage(file))}
        >
          {list.isImage(file) ? 'As text' : 'As image'}
        </Anchor>
      )}
      {isOpen && hasContext(file) && !list.isImage(file) && (
        <Anchor
          component="button"
          type="button"
          size="xs"
          inherit={false}
          flex="none"
          tabIndex={isCopy ? -1 : undefined}
          aria-pressed={list.isWhole(file)}
          aria-label={`Whole file ${pathText(file.path)}`}
          onClick={() => list.showWhole(file, !list.isWhole(file))}
        >
          {list.isWhole(file) ? 'Changes only' : 'Whole file'}
        </Anchor>
      )}
      <label>
        <input
          type="checkbox"
          tabIndex={isCopy ? -1 : undefined}
          aria-label={`Viewed ${pathText(file.path)}`}
          checked={isViewed}
          onChange={(event) => list.setViewed(file, event.currentTarget.checked)}
        />
        <Box component="span" visibleFrom="sm" aria-hidden>
          Viewed
        </Box>
      </label>
    </div>
  );
}

/** Whether there may be lines that the hunks leave out. */
const hasContext = ({ status, isBinary }: FileDiff) => !isBinary && (status === 'modified' || status === 'renamed');

/** A file that is folded for what it is. */
export const FoldedFile = ({ file, show }: { file: FileDiff; show: () => void }) => (
  <Hint px="lg" py="sm">
    {file.isGenerated ? 'Made by a program' : `${(file.additions + file.deletions).toLocaleString()} changed lines`}:
    folded.{' '}
    <Anchor component="button" type="button" aria-label={`Show ${pathText(file.path)}`} onClick={show}>
      Show
    </Anchor>
  </Hint>
);

/** A, M, D or R, as git says it, with the word for a screen reader. */
export const StatusLetter = ({ file }: { file: FileDiff }) => (
  <Text
    span
    ff="monospace"
    size="xs"
    fw={600}
    c={file.status === 'added' ? 'var(--done)' : file.status === 'deleted' ? 'var(--fail)' : 'dimmed'}
    title={STATUS_TEXTS[file.status]}
  >
    <span aria-hidden>{statusLetter(file)}</span>
    <span className="visually-hidden">{STATUS_TEXTS[file.status]}</span>
  </Text>
);

/** How many lines were added and removed; what is none is left out. */
export const Counts = ({ file: { additions, deletions } }: { file: Pick<FileDiff, 'additions' | 'deletions'> }) => (
  <Text span size="xs" flex="none" className="figures">
    {additions > 0 && <span data-tone="done">+{additions.toLocaleString()}</span>}{' '}
    {deletions > 0 && <span data-tone="fail">−{deletions.toLocaleString()}</span>}
  </Text>
);

interface FileAboutProps {
  file: FileDiff;
  /** The parts of the patch that were read. */
  patch: readonly string[] | null;
}

/** What has to be known of a file beside its lines: hidden characters, what is not shown, why there are no lines. */
export const FileAbout = memo(function FileAbout({ file, patch }: FileAboutProps) {
  const [first = null] = patch ?? [];
  const empty = emptyText(file, first);
  const unseen = unseenText(file, first ?? '');
  return (
    <>
      <HiddenNote
        texts={[
          [file.path, 'command'],
          [file.oldPath ?? '', 'command'],
          ...(patch ?? []).map((part) => [part, 'code'] as const),
        ]}
      />
      {unseen !== null && (
        <Hint px="lg" py="sm">
          {unseen}
        </Hint>
      )}
      {empty !== null && (
        <Hint px="lg" py="sm">
          {empty}
        </Hint>
      )}
    </>
  );
});
