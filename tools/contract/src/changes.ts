import { z } from 'zod';

/** The full id of a commit or a tree. */
export const ObjectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'is not the full id of a commit or tree');

/** Git's mode of a file: `100644`, `100755` (executable), `120000` (symbolic link) or `160000` (submodule). */
const FileMode = z.string().nullable();

/** One file of a stage's change. */
export const FileDiff = z.object({
  /** A name that is not UTF-8, or begins with a quotation mark, is quoted as git does it: `"caf\351.txt"`. */
  path: z.string(),
  /** The former path of a renamed file. */
  oldPath: z.string().nullable(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed']),
  /** The modes before and after; null if the file does not exist there. */
  oldMode: FileMode,
  newMode: FileMode,
  additions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
  /** Judged by its content; attributes of the repository are ignored. */
  isBinary: z.boolean(),
  /** Names the two contents, `<old>..<new>`: it changes when the file does. */
  version: z.string().default(''),
  /** Made by a program: a lock file, a minified file, or one that the base commit's attributes call `linguist-generated`. */
  isGenerated: z.boolean().default(false),
  /**
   * The hunks of a unified diff, only if one file was requested; null for binary content. A long one comes in parts, which end
   * with whole lines. A byte that is not UTF-8 becomes a lone surrogate, U+DC80 to U+DCFF.
   */
  patch: z.string().nullable().optional(),
  /** With `patch`: where its next part begins, for `from`; null if this is the last one. */
  next: z.int().positive().nullable().optional(),
  /** With `patch`: the lines of this part that are cut because they are very long, counted from 0, and how long they are. */
  cut: z.array(z.object({ line: z.int().nonnegative(), bytes: z.int().positive() })).optional(),
});
export type FileDiff = z.infer<typeof FileDiff>;

/** A commit of a stage's branch. */
export const BranchCommit = z.object({
  id: ObjectId,
  subject: z.string(),
  author: z.string(),
  at: z.iso.datetime({ offset: true }),
});
export type BranchCommit = z.infer<typeof BranchCommit>;

/** A worktree's changes, committed or not, compared with the branch that it would be merged into. */
export const StageDiff = z.object({
  /** What they are compared with: the last commit that the branch and the main checkout share, or what a `range` begins at. */
  base: ObjectId,
  branch: z.string(),
  /** The branch's newest commit, which a merge would take. */
  head: ObjectId,
  /** The files with all uncommitted changes, as `git add --all` would stage them. */
  tree: ObjectId,
  files: z.array(FileDiff),
  /** The number of all files; only if `limit` was given. */
  total: z.int().nonnegative().optional(),
  /** Paths that git cannot add, for example because it may not read them; they are in no diff and in no merge. */
  unread: z.array(z.string()),
  /** The branch's own commits, newest first; at most 100. Empty if one file or a range was requested. */
  commits: z.array(BranchCommit).default([]),
  /** With the range `turn`: when the files were as in `base`; null if that is where the stage began. */
  since: z.iso.datetime().nullable().default(null),
});
export type StageDiff = z.infer<typeof StageDiff>;

/** The commit and files that a person saw before they decided to merge. */
export const SeenDiff = z.object({ head: ObjectId.optional(), tree: ObjectId.optional() });
export type SeenDiff = z.infer<typeof SeenDiff>;

/** Selects a part of a stage's changes. */
export const DiffQuery = z.strictObject({
  /** One file, with its patch. */
  path: z.string().min(1).optional(),
  /** Compares these two, as `get_diff` returned them, whatever has changed since. */
  base: ObjectId.optional(),
  tree: ObjectId.optional(),
  /** `turn`: what has changed since the last turn began. A commit: what that commit changed. All since the base if left out. */
  range: z.union([z.literal('turn'), ObjectId]).optional(),
  /** With `path`: the changes with three lines around them, or with the whole file around them. */
  context: z.enum(['hunks', 'whole']).optional(),
  /** With `path`: returns the part of the patch that begins there. With `limit`: returns the files from this one on, counted from 0. */
  from: z.coerce.number().int().nonnegative().optional(),
  /** Without `path`: returns at most this many files. */
  limit: z.coerce.number().int().positive().optional(),
});
export type DiffQuery = z.infer<typeof DiffQuery>;

/** The amount of changes in a worktree, committed or not; binary files count as files only. */
export const ChangeCounts = z.object({
  files: z.int().nonnegative(),
  additions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
});
export type ChangeCounts = z.infer<typeof ChangeCounts>;

/** Counts the changes of these files. */
export const countOf = ({ files }: Pick<StageDiff, 'files'>): ChangeCounts => ({
  files: files.length,
  additions: files.reduce((sum, file) => sum + file.additions, 0),
  deletions: files.reduce((sum, file) => sum + file.deletions, 0),
});

/** Selects a file of a diff. */
export const ContentQuery = z.strictObject({ path: z.string().min(1), base: ObjectId, tree: ObjectId });
export type ContentQuery = z.infer<typeof ContentQuery>;

/** The content of a file before or after a change. */
export const FileContent = z.object({
  bytes: z.int().nonnegative(),
  /**
   * Judged by its first bytes, whatever the file is called; null if it is none of these images. An SVG may hold scripts and
   * links: show it in an `<img>` from a `data:` URL only, where it runs and loads nothing.
   */
  mediaType: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml']).nullable(),
  /** Of an image of at most 8 MiB, or a drawing (SVG) of at most 1 MiB. */
  dataBase64: z.string().nullable(),
});
export type FileContent = z.infer<typeof FileContent>;

/** What the first bytes of a file say that it is, and whether its end is there. The name and the browser's media type are only claims. */

const ASCII = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, Math.min(to, bytes.length)));

/** Types that Claude takes, by their first bytes. */
const TAKEN = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'] as const;
/** Other pictures. */
const OTHERS = ['image/heic', 'image/avif', 'image/bmp', 'image/tiff', 'image/x-icon'] as const;
export type ContentType = (typeof TAKEN)[number] | (typeof OTHERS)[number];

const NAMES: Readonly<Record<ContentType, string>> = {
  'image/png': 'a PNG image',
  'image/jpeg': 'a JPEG image',
  'image/gif': 'a GIF image',
  'image/webp': 'a WebP image',
  'application/pdf': 'a PDF document',
  'image/heic': 'a HEIC picture',
  'image/avif': 'an AVIF picture',
  'image/bmp': 'a BMP picture',
  'image/tiff': 'a TIFF picture',
  'image/x-icon': 'an icon',
};

/** "a PDF document" */
export const contentName = (type: ContentType): string => NAMES[type];

/** Whether Claude takes this type of picture or document. */
export const isTaken = (type: ContentType): type is (typeof TAKEN)[number] => TAKEN.some((one) => one === type);

/** Returns the type that the first bytes show; null for anything but a picture or a PDF document. */
export function contentType(bytes: Uint8Array): ContentType | null {
  const start = ASCII(bytes, 0, 12);
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(start)) return 'image/gif';
  if (start.startsWith('RIFF') && start.slice(8) === 'WEBP') return 'image/webp';
  if (/^(?:\xef\xbb\xbf)?\s*%PDF-/.test(ASCII(bytes, 0, 64))) return 'application/pdf';
  if (start.slice(4, 8) === 'ftyp') return brandType(ASCII(bytes, 8, 64));
  if (start.startsWith('BM') && bytes.length > 26) return 'image/bmp';
  if (start.startsWith('II*\0') || start.startsWith('MM\0*')) return 'image/tiff';
  return start.startsWith('\0\0\x01\0') ? 'image/x-icon' : null;
}

/** HEIC and AVIF are kinds of one container, which also has films. */
function brandType(brands: string): ContentType | null {
  if (/avi[fs]/.test(brands)) return 'image/avif';
  return /hei[cxmsf]|hev[cmx]|mif1|msf1/.test(brands) ? 'image/heic' : null;
}

/** Whether the end of a picture or a document is there; false for one that was cut off. */
export function isWhole(type: (typeof TAKEN)[number], bytes: Uint8Array): boolean {
  switch (type) {
    case 'image/png':
      return hasEndOfPng(bytes);
    case 'image/jpeg':
      return hasEndOfJpeg(bytes);
    case 'image/gif':
      return bytes[bytes.findLastIndex((byte) => byte !== 0)] === 0x3b;
    case 'image/webp':
      return bytes.length >= 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
    case 'application/pdf':
      return indexOf(bytes, '%%EOF', 0) !== -1;
    default:
      return type satisfies never;
  }
}

/** Goes from chunk to chunk: others may follow the last one. */
function hasEndOfPng(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 8;
  while (at + 12 <= bytes.length) {
    const end = at + 12 + view.getUint32(at);
    if (ASCII(bytes, at + 4, at + 8) === 'IEND') return end <= bytes.length;
    at = end;
  }
  return false;
}

/** Goes from segment to segment up to the picture's own data: a preview in a segment has an end of its own. */
function hasEndOfJpeg(bytes: Uint8Array): boolean {
  let at = 2;
  while (at + 4 <= bytes.length && bytes[at] === 0xff && bytes[at + 1] !== 0xda)
    at += bytes[at + 1] === 0xff ? 1 : 2 + (bytes[at + 2] ?? 0) * 256 + (bytes[at + 3] ?? 0);
  return at + 4 <= bytes.length && indexOf(bytes, '\xff\xd9', at) !== -1;
}

function indexOf(bytes: Uint8Array, text: string, from: number): number {
  const first = text.charCodeAt(0);
  for (let at = bytes.indexOf(first, from); at !== -1; at = bytes.indexOf(first, at + 1))
    if (ASCII(bytes, at, at + text.length) === text) return at;
  return -1;
}

/**
 * Returns why Claude could not read a file of this media type, in words for a person; null if nothing is known against it. An
 * image may be of another type than it says: Claude Code looks for itself (2.1.330).
 */
export function contentProblem(name: string, mediaType: string, bytes: Uint8Array): string | null {
  const isImage = mediaType.startsWith('image/');
  if (!isImage && mediaType !== 'application/pdf') return null;
  const what = isImage ? 'an image' : 'a PDF document';
  const found = contentType(bytes);
  if (found === null) return `${name} is not ${what}: its content is something else.`;
  if (!isTaken(found) || (found === 'application/pdf') === isImage)
    return `${name} is ${contentName(found)}, not ${isImage ? 'one that Claude takes (PNG, JPEG, GIF or WebP)' : what}.`;
  return isWhole(found, bytes)
    ? null
    : `${name} is cut off: the end of ${contentName(found)} is missing. Save or download it again.`;
}
