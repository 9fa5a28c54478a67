import { type FileDiff, visibleText } from '@callboard/contract';
import { IconChevronRight, IconFolder } from '@tabler/icons-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { pathText } from '../../../lib/paths.ts';
import { Seen } from '../../../ui/seen.tsx';
import { type TreeRow, treeRows } from '../model/change-tree.ts';
import css from './changes-tree.module.css';
import { Counts, StatusLetter } from './file-change.tsx';

interface ChangesTreeProps {
  files: readonly FileDiff[];
  /** The place of the file in view. */
  current: number;
  isViewed: (file: FileDiff) => boolean;
  choose: (file: number) => void;
}

/** The changed files in their folders. */
export function ChangesTree({ files, current, isViewed, choose }: ChangesTreeProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => treeRows(files, closed), [files, closed]);
  const nav = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the file in view
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  const toggle = (key: string) => {
    const next = new Set(closed);
    if (!next.delete(key)) next.add(key);
    setClosed(next);
  };
  return (
    <nav className={css.tree} aria-label="Files" ref={nav}>
      <ul>
        {rows.map((row) => {
          const file = row.file === null ? undefined : files[row.file];
          return (
            <li key={row.key} data-depth={Math.min(row.depth, 8)}>
              {file === undefined || row.file === null ? (
                <FolderRow row={row} isOpen={!closed.has(row.key)} toggle={() => toggle(row.key)} />
              ) : (
                <FileRow
                  file={file}
                  name={row.name}
                  isCurrent={row.file === current}
                  isViewed={isViewed(file)}
                  choose={() => choose(row.file ?? 0)}
                />
              )}
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

const FolderRow = ({ row, isOpen, toggle }: { row: TreeRow; isOpen: boolean; toggle: () => void }) => (
  <button type="button" className={css.row} aria-expanded={isOpen} onClick={toggle}>
    <IconChevronRight size={12} className={css.chevron} data-open={isOpen} aria-hidden />
    <IconFolder size={14} aria-hidden />
    <span className={css.name} title={visibleText(row.key, 'command')}>
      <Seen text={row.name} kind="command" />
    </span>
  </button>
);

interface FileRowProps {
  file: FileDiff;
  name: string;
  isCurrent: boolean;
  isViewed: boolean;
  choose: () => void;
}

const FileRow = ({ file, name, isCurrent, isViewed: wasViewed, choose }: FileRowProps) => (
  <button
    type="button"
    className={css.row}
    data-viewed={wasViewed}
    aria-current={isCurrent || undefined}
    title={pathText(file.path)}
    onClick={choose}
  >
    <StatusLetter file={file} />
    <span className={css.name}>
      <Seen text={name} kind="command" />
    </span>
    {wasViewed && <span className="visually-hidden">, viewed</span>}
    <Counts file={file} />
  </button>
);
