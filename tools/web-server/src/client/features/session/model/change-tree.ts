import type { FileDiff } from '@callboard/contract';
import { fileName } from '../../../lib/paths.ts';

/** A line of the tree of changed files. */
export interface TreeRow {
  key: string;
  depth: number;
  /** The file's or folder's own name; a folder whose only content is a folder is one line with both names. */
  name: string;
  /** The place in the list of files; null for a folder. */
  file: number | null;
}

interface Folder {
  folders: Map<string, Folder>;
  files: { name: string; path: string; at: number }[];
}

const emptyFolder = (): Folder => ({ folders: new Map(), files: [] });

/** The files in the order of the tree: folders first, then by name. */
export function inTreeOrder(files: readonly FileDiff[]): FileDiff[] {
  return rowsOf(files, null).flatMap(({ file }) => (file === null ? [] : (files[file] ?? [])));
}

/** The tree of the files; the content of a closed folder is left out. */
export const treeRows = (files: readonly FileDiff[], closed: ReadonlySet<string>): TreeRow[] => rowsOf(files, closed);

function rowsOf(files: readonly FileDiff[], closed: ReadonlySet<string> | null): TreeRow[] {
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
  walk(root, { prefix: '', depth: 0 }, (row) => {
    rows.push(row);
    return closed === null || !closed.has(row.key);
  });
  return rows;
}

const byName = (one: { name: string }, other: { name: string }) =>
  one.name.localeCompare(other.name, 'en', { numeric: true }) || (one.name < other.name ? -1 : 1);

/** `add` returns whether the content of the row follows. */
function walk(folder: Folder, place: { prefix: string; depth: number }, add: (row: TreeRow) => boolean): void {
  const { prefix, depth } = place;
  const folders = [...folder.folders].map(([name, inner]) => folded(name, inner)).toSorted(byName);
  for (const { name, inner } of folders) {
    const path = `${prefix}${name}/`;
    if (add({ key: path, depth, name, file: null })) walk(inner, { prefix: path, depth: depth + 1 }, add);
  }
  for (const { name, path, at } of folder.files.toSorted(byName)) add({ key: path, depth, name, file: at });
}

/** Joins folders that have nothing but one folder. */
function folded(name: string, inner: Folder): { name: string; inner: Folder } {
  const [only, ...others] = inner.folders;
  if (only === undefined || others.length > 0 || inner.files.length > 0) return { name, inner };
  return folded(`${name}/${only[0]}`, only[1]);
}
