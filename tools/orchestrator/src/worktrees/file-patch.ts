import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationalError } from '../lib/errors.ts';
import type { ObjectsOnlyGit } from './git/objects-only-git.ts';
import type { TreeChange } from './tree-changes.ts';

/** A longer diff of one file is not shown; its counts are. */
const LONGEST_PATCH = 400_000;

const DIFF = ['diff', '--no-color', '--no-ext-diff', '--no-textconv', '--unified=3'];

/**
 * The hunks between a file's two contents, from the contents alone. A submodule's content is the line that git writes
 * for it. Null where there is nothing to read: binary content, or more than anybody would.
 */
export async function filePatch(plain: ObjectsOnlyGit, change: TreeChange): Promise<string | null> {
  if (change.oldId === change.newId) return '';
  if (change.isBinary && !(await isSmall(plain, change))) return null;
  const before = await contentId(plain, change.oldMode, change.oldId);
  const after = await contentId(plain, change.newMode, change.newId);
  const file = join(plain.folder, 'patch');
  const asText = change.isBinary ? ['--text'] : [];
  // Into a file: what is printed here would be read as UTF-8, which contents need not be.
  await must(plain, [...DIFF, ...asText, `--output=${file}`, before, after]);
  if ((await stat(file)).size > LONGEST_PATCH) return null;
  const bytes = await readFile(file);
  const hunks = bytes.subarray(Math.max(0, bytes.indexOf('\n@@ ') + 1));
  if (change.isBinary && !isText(hunks)) return null;
  return bytes.includes('\n@@ ') ? textOf(hunks) : '';
}

/** Git takes one NUL for binary content: a program with one would never be seen. Such text is shown all the same. */
function isText(bytes: Buffer): boolean {
  const controls = bytes.filter((byte) => byte < 32 && ![9, 10, 12, 13].includes(byte)).length;
  return controls * 20 < bytes.length && isUtf8(bytes);
}

async function isSmall(plain: ObjectsOnlyGit, { oldId, newId }: TreeChange): Promise<boolean> {
  for (const id of [oldId, newId]) {
    if (id !== null && Number(await must(plain, ['cat-file', '-s', id])) > LONGEST_PATCH) return false;
  }
  return true;
}

/** The blob of a content, made where there is none. */
async function contentId(plain: ObjectsOnlyGit, mode: string | null, id: string | null): Promise<string> {
  if (id !== null && mode !== '160000') return id;
  const file = join(plain.folder, 'content');
  await writeFile(file, id === null ? '' : `Subproject commit ${id}\n`);
  return must(plain, ['hash-object', '-w', '--no-filters', '--', file]);
}

async function must(plain: ObjectsOnlyGit, args: readonly string[]): Promise<string> {
  const { failed, stdout, stderr } = await plain.try(args);
  if (failed) throw new OperationalError('worktree_failed', `git ${args[0]} failed: ${stderr}`);
  return stdout.trim();
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

const TAIL = '[\\x80-\\xbf]';
/** Whole UTF-8 sequences of more than one byte, in text that was read byte by byte. */
const SEQUENCES = [
  `[\\xc2-\\xdf]${TAIL}`,
  `\\xe0[\\xa0-\\xbf]${TAIL}`,
  `[\\xe1-\\xec\\xee\\xef]${TAIL}{2}`,
  `\\xed[\\x80-\\x9f]${TAIL}`,
  `\\xf0[\\x90-\\xbf]${TAIL}{2}`,
  `[\\xf1-\\xf3]${TAIL}{3}`,
  `\\xf4[\\x80-\\x8f]${TAIL}{2}`,
];
const BEYOND_ASCII = new RegExp(`((?:${SEQUENCES.join('|')})+)|([\\x80-\\xff])`, 'g');

/** Bytes as text; one that is not UTF-8 becomes a lone surrogate that names it, so that no two contents look the same. */
const textOf = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(BEYOND_ASCII, (_, whole: string | undefined, stray: string) =>
      whole === undefined
        ? String.fromCharCode(0xdc00 + stray.charCodeAt(0))
        : Buffer.from(whole, 'latin1').toString('utf8'),
    );
