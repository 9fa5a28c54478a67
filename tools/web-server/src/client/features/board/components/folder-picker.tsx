import type { Folder } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconArrowUp, IconChevronRight, IconFolder, IconGitBranch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { foldersQuery } from '../../../data/folders-query.ts';
import { boardQuery } from '../../../data/queries.ts';
import { describeError } from '../../../lib/error-steps.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { MiddleCut } from '../../../ui/middle-cut.tsx';
import css from './folder-picker.module.css';

interface FolderPickerProps {
  /** The path of the chosen repository, as typed or picked. */
  chosen: string;
  choose: (path: string) => void;
}

/** Folders of Callboard's machine, from the home folder on. A press on a repository chooses it, on any other folder opens it. */
export function FolderPicker({ chosen, choose }: FolderPickerProps) {
  const [at, setAt] = useState<string | undefined>(undefined);
  const { data, error, isPlaceholderData, refetch, isFetching } = useQuery(foldersQuery(at));
  const { data: known = [] } = useQuery({ ...boardQuery, select: (view) => view.projects.map(({ path }) => path) });
  if (error !== null)
    return (
      <Unlisted
        error={error}
        goHome={at === undefined ? null : () => setAt(undefined)}
        retry={() => void refetch()}
        isRetrying={isFetching}
      />
    );
  if (data === undefined) return <div className={css.picker} aria-busy />;
  const { folder, parent, folders, isCut } = data;
  return (
    <section className={css.picker} aria-label="Folders" aria-busy={isPlaceholderData}>
      <div className={css.head}>
        <button
          type="button"
          className={css.up}
          aria-label="Folder above"
          title="Folder above"
          disabled={parent === null}
          onClick={() => parent !== null && setAt(parent)}
        >
          <IconArrowUp size={16} aria-hidden />
        </button>
        <code>
          <MiddleCut text={folder.path} />
        </code>
      </div>
      <ul className={css.list}>
        {folders.map((one) => (
          <Row
            key={one.path}
            folder={one}
            isChosen={one.path === chosen}
            isKnown={known.includes(one.path)}
            press={() => (one.isRepository ? choose(one.path) : setAt(one.path))}
          />
        ))}
      </ul>
      {folders.length === 0 && <p className={css.hint}>No folders here.</p>}
      {isCut && <p className={css.hint}>Only the first {folders.length} are listed. Type the path below.</p>}
    </section>
  );
}

interface RowProps {
  folder: Folder;
  isChosen: boolean;
  /** It is on the board already. */
  isKnown: boolean;
  press: () => void;
}

function Row({ folder: { name, isRepository }, isChosen, isKnown, press }: RowProps) {
  const Icon = isRepository ? IconGitBranch : IconFolder;
  return (
    <li>
      <button
        type="button"
        className={css.row}
        data-repository={isRepository}
        {...(isRepository && { 'aria-pressed': isChosen })}
        disabled={isKnown}
        onClick={press}
      >
        <Icon size={16} aria-hidden />
        <span>{name}</span>
        <span className={css.what}>{isKnown ? 'on the board' : isRepository ? 'repository' : ''}</span>
        {!isRepository && <IconChevronRight size={14} aria-hidden />}
      </button>
    </li>
  );
}

interface UnlistedProps {
  error: Error;
  goHome: (() => void) | null;
  retry: () => void;
  isRetrying: boolean;
}

/** What cannot be listed will not be at a second try either; any other failure may pass. */
const Unlisted = ({ error, goHome, retry, isRetrying }: UnlistedProps) => (
  <div className={css.unlisted}>
    <ErrorNote error={error} retry={retry} isRetrying={isRetrying} />
    {goHome !== null && describeError(error).step === null && (
      <Button size="compact-md" onClick={goHome}>
        Back to the home folder
      </Button>
    )}
  </div>
);
