import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileContent, Worktree } from '@callboard/contract';
import { describeWorktree } from './describe-worktree.ts';
import { textOf } from './file-patch.ts';
import type { Git } from './git/git.ts';
import { type ObjectsOnlyGit, withObjectsOnlyGit } from './git/objects-only-git.ts';
import { type LineHunk, lineHunks } from './line-hunks.ts';
import { treeChanges, versionOf } from './tree-changes.ts';

/** A larger image is not shown. */
const LARGEST_IMAGE = 8 * 1024 * 1024;
/** A larger drawing is text only: the browser would be busy with it for too long. */
const LARGEST_DRAWING = 1024 * 1024;
/** The first element of a drawing begins within so many bytes. */
const DRAWING_HEAD = 64 * 1024;
/** In a larger file, no lines are looked up. */
const LARGEST_TEXT = 20 * 1024 * 1024;

/** Reads contents of files from the objects of a worktree's repository. */
export interface Contents {
  /** Returns the version of a file in a tree or commit; null if it does not exist there. */
  versionIn(treeish: string, path: string): Promise<string | null>;
  /** Returns the lines of a content; null if it is not text, too large, or gone. */
  lines(version: string): Promise<string[] | null>;
  /** Returns which lines differ between two contents; null if that cannot be told. */
  hunks(from: string, to: string): Promise<LineHunk[] | null>;
  /** Returns the contents of a file before and after a change; null where it does not exist. */
  beforeAndAfter(
    base: string,
    tree: string,
    path: string,
  ): Promise<{ before: FileContent | null; after: FileContent | null }>;
}

/** Opens the contents for as long as `use` runs. @throws OperationalError `worktree_failed` */
export async function withContents<T>(
  git: Git,
  worktree: Worktree,
  use: (contents: Contents) => Promise<T>,
): Promise<T> {
  const about = await describeWorktree(git, worktree);
  return withObjectsOnlyGit(git, about, (plain) => use(contentsOf(plain)));
}

function contentsOf(plain: ObjectsOnlyGit): Contents {
  return {
    async versionIn(treeish, path) {
      const { failed, stdout } = await plain.try(['rev-parse', '--verify', '--quiet', `${treeish}:${path}`]);
      return failed ? null : versionOf(stdout.trim());
    },
    async lines(version) {
      const bytes = await contentOf(plain, version, LARGEST_TEXT);
      if (bytes === null) return null;
      return textOf(bytes).replace(/\n$/, '').split('\n');
    },
    async hunks(from, to) {
      const diff = ['diff', '--no-color', '--no-ext-diff', '--no-textconv', '--text', '--minimal', '--unified=0'];
      const { failed, stdout } = await plain.try([...diff, from, to]);
      return failed ? null : lineHunks(stdout);
    },
    async beforeAndAfter(base, tree, path) {
      const change = (await treeChanges(plain, base, tree))?.find((one) => one.path === path);
      return {
        before: await describe(plain, change?.oldId ?? null),
        after: await describe(plain, change?.newId ?? null),
      };
    },
  };
}

async function sizeOf(plain: ObjectsOnlyGit, id: string): Promise<number | null> {
  const { failed, stdout } = await plain.try(['cat-file', '-s', id]);
  return failed ? null : Number(stdout);
}

/** Reads a content through a file, since git's output would be decoded. Null if it is larger, or no file's content. */
async function contentOf(plain: ObjectsOnlyGit, id: string, most: number): Promise<Buffer | null> {
  const bytes = await sizeOf(plain, id);
  if (bytes === null || bytes > most) return null;
  const { failed, stdout } = await plain.try(['unpack-file', id]);
  if (failed) return null;
  const file = join(plain.folder, stdout.trim());
  const content = (await stat(file)).isFile() ? await readFile(file) : null;
  await rm(file, { force: true });
  return content;
}

async function describe(plain: ObjectsOnlyGit, id: string | null): Promise<FileContent | null> {
  const bytes = id === null ? null : await sizeOf(plain, id);
  if (id === null || bytes === null) return null;
  const content = await contentOf(plain, id, LARGEST_IMAGE);
  const mediaType = content === null ? null : imageTypeOf(content);
  return { bytes, mediaType, dataBase64: mediaType === null ? null : (content?.toString('base64') ?? null) };
}

/** The kind of an image, by its first bytes. The name of a file says nothing of what is in it. */
function imageTypeOf(content: Buffer): FileContent['mediaType'] {
  const ascii = (from: number, to: number) => content.subarray(from, to).toString('latin1');
  if (ascii(0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png';
  if (ascii(0, 3) === '\xff\xd8\xff') return 'image/jpeg';
  if (ascii(0, 6) === 'GIF87a' || ascii(0, 6) === 'GIF89a') return 'image/gif';
  if (ascii(0, 4) === 'RIFF' && ascii(8, 12) === 'WEBP') return 'image/webp';
  return isDrawing(content) ? 'image/svg+xml' : null;
}

/** What may stand before the first element: instructions, comments, the document's type. */
const PROLOG = [
  ['<?', '?>'],
  ['<!--', '-->'],
  ['<!', '>'],
] as const;

/** Whether a text is an SVG. One that declares entities is none: a few lines of them can grow to gigabytes. */
function isDrawing(content: Buffer): boolean {
  if (content.length > LARGEST_DRAWING) return false;
  let rest = content
    .toString('utf8', 0, DRAWING_HEAD)
    .replace(/^\uFEFF/, '')
    .trimStart();
  for (;;) {
    const close = PROLOG.find(([open]) => rest.startsWith(open))?.[1];
    if (close === undefined) return /^<(?:[\w-]+:)?svg[\s/>]/.test(rest);
    const at = rest.indexOf(close);
    if (at === -1) return false;
    rest = rest.slice(at + close.length).trimStart();
  }
}
