import { type FileDiff, visibleText } from '@callboard/contract';
import { Text } from '@mantine/core';
import { IconChevronRight, IconFolder } from '@tabler/icons-react';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, memo, useEffect, useEffectEvent, useId, useMemo, useRef, useState } from 'react';
import { fileName, pathText } from '../../lib/tool-text.ts';
import { Seen } from '../../ui/text.tsx';
import { Counts, StatusLetter } from './changes-head.tsx';
import css from './stage-changes.module.css';

/** A line of the tree of changed files. */
export interface TreeRow {
  key: string;
  depth: number;
  /** The file's or folder's own name; a folder whose only content is a folder is one line with both names. */
  name: string;
  /** The place in the list of files; null for a folder. */
  file: number | null;
  /** Which of how many it is in its folder, from 1. */
  position: number;
  siblings: number;
}

interface Folder {
  folders: Map<string, Folder>;
  files: { name: string; path: string; at: number }[];
}

const emptyFolder = (): Folder => ({ folders: new Map(), files: [] });

/** The files in the order of the tree: folders first, then by name. */
export function inTreeOrder(files: readonly FileDiff[]): FileDiff[] {
  return treeRows(files, new Set()).flatMap(({ file }) => (file === null ? [] : (files[file] ?? [])));
}

/** The tree of the files; the content of a closed folder is left out. */
export function treeRows(files: readonly FileDiff[], closed: ReadonlySet<string>): TreeRow[] {
  const root = emptyFolder();
  for (const [at, { path }] of files.entries()) {
    const parts = fileName(path).split('/');
    let folder = root;
    for (const part of parts.slice(0, -1)) {
      const inner = folder.folders.get(part) ?? emptyFolder();
      folder.folders.set(part, inner);
      folder = inner;
    }
    folder.files.push({ name: parts.at(-1) ?? path, path, at });
  }
  const rows: TreeRow[] = [];
  addRows(rows, root, { prefix: '', depth: 0, closed });
  return rows;
}

interface FolderPosition {
  prefix: string;
  depth: number;
  closed: ReadonlySet<string>;
}

function addRows(rows: TreeRow[], folder: Folder, { prefix, depth, closed }: FolderPosition): void {
  const siblings = folder.folders.size + folder.files.length;
  let position = 0;
  const add = (key: string, name: string, file: number | null) => {
    position += 1;
    rows.push({ key, depth, name, file, position, siblings });
  };
  for (const { name, inner } of byName([...folder.folders].map(([name, inner]) => folded(name, inner)))) {
    const path = `${prefix}${name}/`;
    add(path, name, null);
    if (!closed.has(path)) addRows(rows, inner, { prefix: path, depth: depth + 1, closed });
  }
  for (const { name, path, at } of byName(folder.files)) add(path, name, at);
}

/** Letters without their case and accents first, and numbers by their value. A collator takes ten times as long for thousands of names. */
function byName<T extends { name: string }>(all: readonly T[]): T[] {
  const keyOf = ({ name }: T) =>
    name
      .normalize('NFKD')
      .toLowerCase()
      .replaceAll(/\d+/g, (digits) => digits.padStart(20, '0'));
  const keyed = all.map((one) => ({ one, key: keyOf(one) }));
  const before = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return keyed.toSorted((a, b) => before(a.key, b.key) || before(a.one.name, b.one.name)).map(({ one }) => one);
}

/** Joins folders that have nothing but one folder. */
function folded(name: string, inner: Folder): { name: string; inner: Folder } {
  const [only, ...others] = inner.folders;
  if (only === undefined || others.length > 0 || inner.files.length > 0) return { name, inner };
  return folded(`${name}/${only[0]}`, only[1]);
}

const ROW_HEIGHT = 32;

interface ChangesTreeProps {
  files: readonly FileDiff[];
  /** The place of the file in view. */
  current: number;
  isViewed: (file: FileDiff) => boolean;
  choose: (file: number) => void;
}

/** The changed files in their folders, of which only the lines in sight exist. The focus is on the tree, which says which line is active. */
export function ChangesTree({ files, current, isViewed, choose }: ChangesTreeProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState<string | null>(null);
  const rows = useMemo(() => treeRows(files, closed), [files, closed]);
  const places = useMemo(() => new Map(rows.map(({ key }, at) => [key, at])), [rows]);
  const nav = useRef<HTMLElement>(null);
  const id = useId();
  const activeAt = (active === null ? undefined : places.get(active)) ?? places.get(files[current]?.path ?? '') ?? 0;
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => nav.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
    useFlushSync: false,
    // The focus names it.
    rangeExtractor: (range) => {
      const inSight = defaultRangeExtractor(range);
      return inSight.includes(activeAt) || activeAt >= rows.length
        ? inSight
        : [...inSight, activeAt].toSorted((a, b) => a - b);
    },
  });
  const follow = useEffectEvent(() => {
    const at = places.get(files[current]?.path ?? '');
    if (at !== undefined) virtualizer.scrollToIndex(at);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the file in view
  useEffect(() => follow(), [current]);

  const setOpen = (key: string, open: boolean) => {
    const next = new Set(closed);
    if (open) next.delete(key);
    else next.add(key);
    setClosed(next);
  };
  const press = (row: TreeRow) => {
    setActive(row.key);
    if (row.file === null) setOpen(row.key, closed.has(row.key));
    else choose(row.file);
  };
  const goTo = (at: number) => {
    const place = Math.min(Math.max(at, 0), rows.length - 1);
    setActive(rows[place]?.key ?? null);
    virtualizer.scrollToIndex(place);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[activeAt];
    if (event.ctrlKey || event.metaKey || event.altKey || row === undefined) return;
    const isOpen = row.file === null && !closed.has(row.key);
    if (event.key === 'ArrowDown') goTo(activeAt + 1);
    else if (event.key === 'ArrowUp') goTo(activeAt - 1);
    else if (event.key === 'Home') goTo(0);
    else if (event.key === 'End') goTo(rows.length - 1);
    else if (event.key === 'Enter' || event.key === ' ') press(row);
    else if (event.key === 'ArrowRight' && isOpen) goTo(activeAt + 1);
    else if (event.key === 'ArrowRight' && row.file === null) setOpen(row.key, true);
    else if (event.key === 'ArrowLeft' && isOpen) setOpen(row.key, false);
    else if (event.key === 'ArrowLeft')
      goTo(
        Math.max(
          rows.slice(0, activeAt).findLastIndex(({ depth }) => depth < row.depth),
          0,
        ),
      );
    else return;
    event.preventDefault();
  };
  return (
    <nav className={css.tree} aria-label="Files" ref={nav}>
      <div
        role="tree"
        aria-label="Changed files in their folders"
        tabIndex={0}
        aria-activedescendant={`${id}-${activeAt}`}
        className={css.treeRows}
        style={{ height: virtualizer.getTotalSize() }}
        onKeyDown={onKeyDown}
      >
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          const file = row === undefined || row.file === null ? undefined : files[row.file];
          if (row === undefined) return null;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the focus, and the keys
            <div
              key={row.key}
              id={`${id}-${index}`}
              ref={virtualizer.measureElement}
              data-index={index}
              data-active={index === activeAt || undefined}
              role="treeitem"
              tabIndex={-1}
              aria-level={row.depth + 1}
              aria-posinset={row.position}
              aria-setsize={row.siblings}
              aria-expanded={row.file === null ? !closed.has(row.key) : undefined}
              aria-current={(row.file !== null && row.file === current) || undefined}
              title={file === undefined ? visibleText(row.key, 'command') : pathText(file.path)}
              className={css.treeRow}
              style={{ transform: `translateY(${start}px)`, paddingLeft: 8 + 14 * Math.min(row.depth, 8) }}
              // Pressed, it would take the focus from the tree, and lose it when it is out of sight.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => press(row)}
            >
              {file === undefined ? (
                <FolderText name={row.name} />
              ) : (
                <FileText file={file} name={row.name} isViewed={isViewed(file)} />
              )}
            </div>
          );
        })}
      </div>
    </nav>
  );
}

const FolderText = memo(({ name }: { name: string }) => (
  <>
    <IconChevronRight size={12} aria-hidden />
    <IconFolder size={14} aria-hidden />
    <Text span inherit ff="monospace" truncate>
      <Seen text={name} kind="command" />
    </Text>
  </>
));

const FileText = memo(({ file, name, isViewed }: { file: FileDiff; name: string; isViewed: boolean }) => (
  <>
    <StatusLetter file={file} />
    <Text span inherit ff="monospace" truncate flex={1} td={isViewed ? 'line-through' : undefined}>
      <Seen text={name} kind="command" />
    </Text>
    {isViewed && <span className="visually-hidden">, viewed</span>}
    <Counts file={file} />
  </>
));
