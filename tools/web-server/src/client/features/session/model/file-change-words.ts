import type { FileDiff } from '@callboard/contract';

export const STATUS_TEXTS: Readonly<Record<FileDiff['status'], string>> = {
  added: 'added',
  modified: 'modified',
  deleted: 'deleted',
  renamed: 'renamed',
};

/** Git's letter for what happened to the file. */
export const statusLetter = ({ status }: Pick<FileDiff, 'status'>): string => status.charAt(0).toUpperCase();

const KINDS: Readonly<Record<string, string>> = {
  '100644': 'file',
  '100755': 'executable file',
  '120000': 'symbolic link',
  '160000': 'submodule',
};

const kindOf = (mode: string) => KINDS[mode] ?? `mode ${mode}`;

/** The kind of a file that is no plain file, and how it changed; null for a plain file. */
export function kindLabel({ oldMode, newMode }: FileDiff): string | null {
  if (oldMode !== null && newMode !== null && oldMode !== newMode) return `${kindOf(oldMode)} → ${kindOf(newMode)}`;
  const mode = newMode ?? oldMode ?? '100644';
  return mode === '100644' ? null : kindOf(mode);
}

const LFS = /^[+-]version https:\/\/git-lfs\.github\.com\/spec\//m;

/** What a patch cannot show of a file, in words; null if it shows everything. */
export function unseenText({ oldMode, newMode, isBinary }: FileDiff, patch: string): string | null {
  if (oldMode === '160000' || newMode === '160000') return 'Another repository: what changes in it is not shown here.';
  if (LFS.test(patch)) return 'Stored in Git LFS: this is the pointer file. The content is not shown here.';
  return isBinary ? 'Git treats this file as binary because it contains NUL characters.' : null;
}

/** Whether a file of text is a drawing, by its name: it is shown as an image, or as text. */
export const isDrawing = ({ path, oldMode, newMode, isBinary }: FileDiff): boolean =>
  !isBinary && /\.svg"?$/i.test(path) && [oldMode, newMode].every((mode) => mode === null || mode.startsWith('100'));

/** Why there are no lines to show; null if there are some, or if the content is shown as a whole. */
export function emptyText({ status, isBinary }: FileDiff, patch: string | null): string | null {
  if (patch === null) return isBinary ? null : 'This change is too long to be shown here.';
  if (patch !== '') return null;
  return status === 'added' || status === 'deleted' ? 'An empty file.' : 'Its content is unchanged.';
}
