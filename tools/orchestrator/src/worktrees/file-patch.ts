import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationalError } from '../lib/errors.ts';
import type { ObjectsOnlyGit } from './git/objects-only-git.ts';
import type { TreeChange } from './tree-changes.ts';

/** A longer diff of one file is not shown, only its counts. */
const MAX_PATCH_LENGTH = 400_000;
/** With the whole file around the changes: a person asked for it. */
const MAX_WHOLE_LENGTH = 2_000_000;

const DIFF = ['diff', '--no-color', '--no-ext-diff', '--no-textconv'];
const AROUND = { hunks: '--unified=3', whole: '--unified=1000000' } as const;

/**
 * Returns the hunks between a file's two contents, from the contents alone. A submodule's content is the line that git writes
 * for it. Null for binary content and for changes that are too long to read.
 */
export async function filePatch(
  plain: ObjectsOnlyGit,
  change: TreeChange,
  context: keyof typeof AROUND = 'hunks',
): Promise<string | null> {
  if (change.oldId === change.newId) return '';
  if (change.isBinary && !(await isSmall(plain, change))) return null;
  const before = await contentId(plain, change.oldMode, change.oldId);
  const after = await contentId(plain, change.newMode, change.newId);
  const file = join(plain.folder, 'patch');
  const asText = change.isBinary ? ['--text'] : [];
  // Into a file: the output would be decoded as UTF-8, and contents may be in any encoding.
  await must(plain, [...DIFF, AROUND[context], ...asText, `--output=${file}`, before, after]);
  if ((await stat(file)).size > (context === 'whole' ? MAX_WHOLE_LENGTH : MAX_PATCH_LENGTH)) return null;
  const bytes = await readFile(file);
  const hunks = bytes.subarray(Math.max(0, bytes.indexOf('\n@@ ') + 1));
  if (change.isBinary && !isText(hunks)) return null;
  return bytes.includes('\n@@ ') ? textOf(hunks) : '';
}

/** Git treats content with a single NUL as binary, which would hide a program with one. Such text is shown. */
function isText(bytes: Buffer): boolean {
  const controls = bytes.filter((byte) => byte < 32 && ![9, 10, 12, 13].includes(byte)).length;
  return controls * 20 < bytes.length && isUtf8(bytes);
}

async function isSmall(plain: ObjectsOnlyGit, { oldId, newId }: TreeChange): Promise<boolean> {
  for (const id of [oldId, newId]) {
    if (id !== null && Number(await must(plain, ['cat-file', '-s', id])) > MAX_PATCH_LENGTH) return false;
  }
  return true;
}

/** Returns the blob of a content; creates it if needed. */
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
/** Complete UTF-8 sequences of several bytes, in text decoded byte by byte. */
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

/** Decodes bytes; a byte that is not UTF-8 becomes a lone surrogate with its value, so that different contents look different. */
export const textOf = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(BEYOND_ASCII, (_, whole: string | undefined, stray: string) =>
      whole === undefined
        ? String.fromCharCode(0xdc00 + stray.charCodeAt(0))
        : Buffer.from(whole, 'latin1').toString('utf8'),
    );
