import { dirname, normalize } from 'node:path';
import type { Match } from './rule-covers.ts';

/** A file that a tool call is about, and the folder that its rules are relative to; null if that is unknown. */
interface RuledFile {
  path: string;
  folder: string | null;
  isEdit: boolean;
}

/** A name in a pattern in which only `*` has a meaning of its own. */
const NAME = /^[\w.@+ *-]+$/;
const MAX_STARS = 4;
/** `src/`, `src/*` and `src/**` are all that is below `src` (CLI 2.1.330, tried). */
const BELOW = /\/(?:\*\*?)?$/;

/**
 * Whether the path of a rule such as `Edit(src/**)` covers a file, as Claude Code compares them (2.1.330, tried): `//` begins at
 * the root, a pattern with a slash in its middle at the folder of the session, a single name anywhere below that; a folder
 * stands for all that is in it, and case makes no difference. `unsure` for every other pattern, and for an edit of what Claude
 * Code protects. Links are not followed: Claude Code compares where they lead, too.
 */
export function pathMatch(pattern: string, { path: asked, folder, isEdit }: RuledFile): Match {
  const path = asked.startsWith('/') || folder === null ? asked : `${folder}/${asked}`;
  if (!path.startsWith('/') || normalize(path) !== path) return 'unsure';
  const isAbsolute = pattern.startsWith('//');
  const wanted = isAbsolute ? pattern.slice(2) : pattern.replace(/^\.\//, '');
  const names = wanted.replace(BELOW, '').split('/');
  if (!isComparable(names) || (!isAbsolute && folder === null)) return 'unsure';
  const inFolder = folder !== null && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null;
  if (!isAbsolute && inFolder === null) return 'no';
  const file = isAbsolute ? path.slice(1) : (inFolder ?? '');
  const isAnchored = isAbsolute || wanted.replace(/\/$/, '').includes('/');
  const regex = new RegExp(`^${isAnchored ? '' : '(?:.*/)?'}${regexOf(names)}(?:/.*)?$`, 'i');
  // What is below a folder is not the folder itself.
  if (!regex.test(BELOW.test(wanted) ? dirname(file) : file)) return 'no';
  return isEdit && isProtected(inFolder ?? path) ? 'unsure' : 'yes';
}

function isComparable(names: readonly string[]): boolean {
  const stars = names.join('/').split('*').length - 1;
  return stars <= MAX_STARS && names.every((name) => NAME.test(name) && name !== '.' && name !== '..');
}

/** `*` stands for a part of a name, `**` for any number of folders. */
const regexOf = (names: readonly string[]): string =>
  names
    .map((name, index) => {
      const isLast = index === names.length - 1;
      if (name === '**') return isLast ? '.*' : '(?:.*/)?';
      const text = name.replaceAll(/[.+]/g, String.raw`\$&`).replaceAll(/\*+/g, '[^/]*');
      return isLast ? text : `${text}/`;
    })
    .join('');

/** Whether Claude Code may ask about an edit whatever its rules say, as it does in `.git`, `.claude` and `.vscode`. */
const isProtected = (path: string): boolean => path.split('/').some((name) => name.startsWith('.'));
