import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FileContent, FileDiff, Worktree } from '@callboard/contract';
import { OperationalError } from '../../lib/errors.ts';
import { type Git, type ObjectsOnlyGit, withObjectsOnlyGit } from '../../platform/git/git.ts';
import { describeWorktree } from './snapshot.ts';

/** A larger image is not shown. */
const LARGEST_IMAGE = 8 * 1024 * 1024;
/** A larger drawing is text only: the browser would be busy with it for too long. */
const LARGEST_DRAWING = 1024 * 1024;
/** The first element of a drawing begins within so many bytes. */
const DRAWING_HEAD = 64 * 1024;
/** In a larger file, no lines are looked up, and git takes it for binary without reading it. */
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
  { git, trees }: { git: Git; trees: TreeDiffs },
  worktree: Worktree,
  use: (contents: Contents) => Promise<T>,
): Promise<T> {
  const about = await describeWorktree(git, worktree);
  return withObjectsOnlyGit(git, about, (plain) => use(contentsOf(plain, trees)));
}

function contentsOf(plain: ObjectsOnlyGit, trees: TreeDiffs): Contents {
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
      const change = (await trees.between(plain, base, tree))?.find((one) => one.path === path);
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

/** Content that git takes for binary is shown as text only up to this size. */
const MAX_BINARY_TEXT = 400_000;
/** A part of a patch ends with the line that reaches this length, or this number of lines. */
const PART_BYTES = 400_000;
const PART_LINES = 25_000;
/** A longer line of a patch is cut: a browser would be busy with it. */
const LINE_BYTES = 4_000;
const BLOCK_BYTES = 64 * 1024;

const DIFF = ['diff', '--no-color', '--no-ext-diff', '--no-textconv'];
const AROUND = { hunks: '--unified=3', whole: '--unified=1000000' } as const;

/** A part of a file's patch. */
export type PatchPart = Required<Pick<FileDiff, 'patch' | 'next' | 'cut'>>;

const partOf = (patch: string | null): PatchPart => ({ patch, next: null, cut: [] });

/**
 * Returns a part of the hunks between a file's two contents, from the contents alone. A submodule's content is the line that git
 * writes for it. The patch is null for binary content.
 * @param from where the part begins, as the part before said; 0 for the first one
 */
export async function filePatch(
  plain: ObjectsOnlyGit,
  change: TreeChange,
  { context = 'hunks', from = 0 }: { context?: keyof typeof AROUND; from?: number } = {},
): Promise<PatchPart> {
  if (change.oldId === change.newId) return partOf('');
  if (change.isBinary && !(await isSmall(plain, change))) return partOf(null);
  const before = await contentId(plain, change.oldMode, change.oldId);
  const after = await contentId(plain, change.newMode, change.newId);
  const file = join(plain.folder, 'patch');
  const asText = change.isBinary ? ['--text'] : [];
  // Into a file: the output would be decoded as UTF-8, and contents may be in any encoding.
  await must(plain, [...DIFF, AROUND[context], ...asText, `--output=${file}`, before, after]);
  const begin = from > 0 ? from : await firstHunk(file);
  if (begin === null) return partOf('');
  const { bytes, ...part } = await readPart(file, begin);
  if (change.isBinary && !isText(bytes)) return partOf(null);
  return { ...part, patch: textOf(bytes) };
}

/** Returns where the first hunk of a patch begins; null if it has none. The lines before it are short: they name contents only. */
async function firstHunk(file: string): Promise<number | null> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BLOCK_BYTES), 0, BLOCK_BYTES, 0);
    const at = buffer.subarray(0, bytesRead).indexOf('\n@@ ');
    return at === -1 ? null : at + 1;
  } finally {
    await handle.close();
  }
}

const NEWLINE = 10;

/** Reads lines until there are enough of them, block by block: a line may be as long as its file. */
async function readPart(file: string, from: number): Promise<Omit<PatchPart, 'patch'> & { bytes: Buffer }> {
  const handle = await open(file);
  try {
    const saved: Buffer[] = [];
    const cut: PatchPart['cut'] = [];
    const block = Buffer.alloc(BLOCK_BYTES);
    let length = 0;
    let line = 0;
    let lineLength = 0;
    const take = (bytes: Buffer) => {
      const room = Math.max(0, LINE_BYTES - lineLength);
      lineLength += bytes.length;
      const kept = Buffer.from(bytes.subarray(0, bytes.length <= room ? room : wholeCharacters(bytes, room)));
      saved.push(kept);
      length += kept.length;
    };
    const endLine = () => {
      if (lineLength > LINE_BYTES) cut.push({ line, bytes: lineLength });
      line += 1;
      lineLength = 0;
    };
    for (let at = from; ; ) {
      const { bytesRead } = await handle.read(block, 0, BLOCK_BYTES, at);
      if (bytesRead === 0) {
        if (lineLength > 0) endLine();
        return { bytes: Buffer.concat(saved), cut, next: null };
      }
      const read = block.subarray(0, bytesRead);
      for (let start = 0; start < bytesRead; ) {
        const newline = read.indexOf(NEWLINE, start);
        take(read.subarray(start, newline === -1 ? bytesRead : newline));
        start = newline === -1 ? bytesRead : newline + 1;
        if (newline === -1) continue;
        endLine();
        saved.push(Buffer.of(NEWLINE));
        length += 1;
        if (length >= PART_BYTES || line >= PART_LINES) return { bytes: Buffer.concat(saved), cut, next: at + start };
      }
      at += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

/** The greatest length up to `most` that cuts no character of several bytes. */
function wholeCharacters(bytes: Buffer, most: number): number {
  let end = most;
  while (end > 0 && most - end < 3 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}

/** Git treats content with a single NUL as binary, which would hide a program with one. Such text is shown. */
function isText(bytes: Buffer): boolean {
  const controls = bytes.filter((byte) => byte < 32 && ![9, 10, 12, 13].includes(byte)).length;
  return controls * 20 < bytes.length && isUtf8(bytes);
}

async function isSmall(plain: ObjectsOnlyGit, { oldId, newId }: TreeChange): Promise<boolean> {
  for (const id of [oldId, newId]) {
    if (id !== null && Number(await must(plain, ['cat-file', '-s', id])) > MAX_BINARY_TEXT) return false;
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
const textOf = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(BEYOND_ASCII, (_, whole: string | undefined, stray: string) =>
      whole === undefined
        ? String.fromCharCode(0xdc00 + stray.charCodeAt(0))
        : Buffer.from(whole, 'latin1').toString('utf8'),
    );

/** A file that differs between two trees, with the ids of its contents; null if it does not exist there. */
export interface TreeChange extends Omit<FileDiff, 'version' | 'isGenerated'> {
  oldId: string | null;
  newId: string | null;
}

/** Returns the name of a content in the version of a file; empty if there is none. */
export const versionOf = (id: string | null): string => id?.slice(0, 16) ?? '';

/** Names are quoted, so that every byte arrives; renames are detected by our own rules, and submodules are never ignored. */
const DIFF_TREE = [
  ...['-c', `core.bigFileThreshold=${LARGEST_TEXT}`],
  ...['-c', 'core.quotePath=true', 'diff-tree', '-r', '--raw', '--numstat', '--no-abbrev'],
  ...['--find-renames=50%', '-l1000', '--no-ext-diff', '--no-textconv', '--ignore-submodules=none'],
];

const RAW = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*\t([^\t]+)(?:\t([^\t]+))?$/;
const COUNTS = /^(\d+|-)\t(\d+|-)\t/;

const STATUS: Readonly<Record<string, FileDiff['status']>> = { A: 'added', D: 'deleted', R: 'renamed' };

/** So many lines of git are parsed before others get their turn: a change may have tens of thousands of files. */
const LINES_AT_ONCE = 500;

/** Returns the files that differ between two trees, with line counts; null if git does not know one of the trees. */
export async function treeChanges(plain: ObjectsOnlyGit, base: string, tree: string): Promise<TreeChange[] | null> {
  const { failed, stdout } = await plain.try([...DIFF_TREE, `${base}^{tree}`, tree]);
  if (failed) return null;
  const named: Omit<TreeChange, keyof typeof NO_COUNTS>[] = [];
  const counted: (typeof NO_COUNTS)[] = [];
  for (let at = 0, lines = 0; at < stdout.length; lines += 1) {
    const end = stdout.indexOf('\n', at);
    const line = stdout.slice(at, end === -1 ? undefined : end);
    at = end === -1 ? stdout.length : end + 1;
    if (line.startsWith(':')) named.push(parseRaw(line));
    else if (line !== '') counted.push(parseCounts(line));
    if (lines % LINES_AT_ONCE === LINES_AT_ONCE - 1) await nextTurn();
  }
  if (named.length !== counted.length) throw new Error('git diff-tree lists and counts different files');
  return named.map((change, index) => ({ ...change, ...(counted[index] ?? NO_COUNTS) }));
}

/** What differs between two trees, which never changes. */
export interface TreeDiffs {
  /** Returns what `treeChanges` does. Git reads every changed file to count its lines, so the newest answers are kept. */
  between(plain: ObjectsOnlyGit, base: string, tree: string): Promise<readonly TreeChange[] | null>;
}

/** How many answers are kept: a page asks for each file of the one that it shows. */
const MAX_TREE_DIFFS = 4;

export function createTreeDiffs(): TreeDiffs {
  const found = new Map<string, readonly TreeChange[]>();
  return {
    async between(plain, base, tree) {
      const key = `${base} ${tree}`;
      const before = found.get(key);
      // Git removes objects that no ref has after some time.
      const isThere = before && !(await plain.try(['rev-parse', '--quiet', `${base}^{tree}`, `${tree}^{tree}`])).failed;
      const changes = isThere ? before : await treeChanges(plain, base, tree);
      found.delete(key);
      if (changes !== null) found.set(key, changes);
      for (const oldest of [...found.keys()].slice(0, -MAX_TREE_DIFFS)) found.delete(oldest);
      return changes;
    },
  };
}

const NO_COUNTS = { additions: 0, deletions: 0, isBinary: false };

function parseRaw(line: string): Omit<TreeChange, keyof typeof NO_COUNTS> {
  const [, oldMode, newMode, oldId, newId, letter = '', first = '', second] = RAW.exec(line) ?? [];
  if (first === '') throw new Error(`unexpected line of git diff-tree --raw: ${line}`);
  return {
    path: nameOf(second ?? first),
    oldPath: second === undefined ? null : nameOf(first),
    status: STATUS[letter] ?? 'modified',
    oldMode: orNull(oldMode),
    newMode: orNull(newMode),
    oldId: orNull(oldId),
    newId: orNull(newId),
  };
}

const orNull = (value = ''): string | null => (/^0*$/.test(value) ? null : value);

function parseCounts(line: string): typeof NO_COUNTS {
  const [, additions, deletions] = COUNTS.exec(line) ?? [];
  if (additions === undefined) throw new Error(`unexpected line of git diff-tree --numstat: ${line}`);
  if (additions === '-') return { ...NO_COUNTS, isBinary: true };
  return { additions: Number(additions), deletions: Number(deletions), isBinary: false };
}

const LETTERS: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 };

/** Decodes a name that git printed; it stays quoted if it is not UTF-8 or looks like a quoted name. */
function nameOf(printed: string): string {
  if (!printed.startsWith('"')) return printed;
  const bytes = [...printed.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\])/gu)].flatMap(
    ([, octal, letter, plain]) => {
      if (octal !== undefined) return Number.parseInt(octal, 8);
      if (letter !== undefined) return LETTERS[letter] ?? 0;
      return [...Buffer.from(plain ?? '')];
    },
  );
  try {
    const name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
    return name.startsWith('"') ? printed : name;
  } catch {
    return printed;
  }
}

/** Lines that differ: `before` lines from `from` on were replaced with `after` lines from `to` on. Zero lines: they follow that line. */
export interface LineHunk {
  from: number;
  before: number;
  to: number;
  after: number;
}

/** Lines of a file, the last one included. */
export interface LineRange {
  line: number;
  endLine: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Reads the hunks of a diff without context. */
export function lineHunks(diff: string): LineHunk[] {
  const hunks: LineHunk[] = [];
  let left = 0; // lines of a hunk may look like its head
  for (const line of diff.split('\n')) {
    if (left > 0) {
      if (!line.startsWith('\\')) left -= 1;
      continue;
    }
    const [, from, before = '1', to, after = '1'] = HUNK.exec(line) ?? [];
    if (from === undefined || to === undefined) continue;
    hunks.push({ from: Number(from), before: Number(before), to: Number(to), after: Number(after) });
    left = Number(before) + Number(after);
  }
  return hunks;
}

/**
 * Returns where lines are after a change. `hasMoved`: they themselves have changed, or lines were added between them; they are
 * then what stands in their place now.
 */
export function followLines(
  hunks: readonly LineHunk[],
  { line, endLine }: LineRange,
): LineRange & { hasMoved: boolean } {
  let shift = 0;
  let hasMoved = false;
  let [first, last] = [line, endLine];
  for (const { from, before, to, after } of hunks) {
    const isAddition = before === 0;
    const lastChanged = from + before - 1;
    if (isAddition ? from >= endLine : from > endLine) break;
    if (isAddition ? from < line : lastChanged < line) {
      shift += after - before;
      [first, last] = [line + shift, endLine + shift];
      continue;
    }
    if (!hasMoved && !isAddition && from <= line) first = Math.max(1, to);
    hasMoved = true;
    shift += after - before;
    last = Math.max(first, !isAddition && lastChanged >= endLine ? to + after - 1 : endLine + shift);
  }
  return { line: first, endLine: last, hasMoved };
}

const LOCK_FILES: ReadonlySet<string> = new Set([
  ...['package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb', 'deno.lock'],
  ...['Cargo.lock', 'go.sum', 'Gemfile.lock', 'composer.lock', 'poetry.lock', 'uv.lock', 'pdm.lock', 'Pipfile.lock'],
  ...['flake.lock', 'mix.lock', 'pubspec.lock', 'Podfile.lock', 'Package.resolved', 'packages.lock.json'],
]);
const MADE = /\.(?:min\.(?:js|css|mjs)|(?:js|css|mjs)\.map|snap)$/;

/** The limit of paths in one call of git, since command lines are limited in length. */
const PATHS_PER_CALL = 500;

/** The exit code of `git grep`; a failure has another one. */
const FOUND_NOTHING = 1;

/** How many answers about base commits are kept. */
const MAX_BASES = 500;

export interface GeneratedFiles {
  /**
   * Returns the paths that a program has made: lock files and minified ones by their names, others by `linguist-generated` in
   * the attributes of the base commit. Attributes of the branch do not count: they could fold away what should be read.
   */
  among(git: Git, checkout: string, base: string, changes: readonly TreeChange[]): Promise<ReadonlySet<string>>;
}

/** Remembers which commits mark no file, which most do and which takes git a look at every folder. */
export function createGeneratedFiles(): GeneratedFiles {
  const unmarked = new Set<string>();

  async function marksAny(git: Git, checkout: string, base: string): Promise<boolean> {
    if (unmarked.has(base)) return false;
    const reported = [
      'grep',
      '--quiet',
      '--fixed-strings',
      'linguist-generated',
      base,
      '--',
      ':(glob)**/.gitattributes',
    ];
    const { failed, exitCode } = await git.try(checkout, reported, { GIT_NO_REPLACE_OBJECTS: '1' });
    if (exitCode === FOUND_NOTHING) unmarked.add(base);
    if (unmarked.size > MAX_BASES) unmarked.delete(unmarked.values().next().value ?? '');
    return !failed;
  }

  return {
    async among(git, checkout, base, changes) {
      const isNamedSo = ({ path }: TreeChange) => LOCK_FILES.has(basename(path)) || MADE.test(path);
      const byName = changes.filter(isNamedSo);
      const others = changes.filter((change) => !isNamedSo(change)).map(({ path }) => path);
      const isAsked = others.length > 0 && (await marksAny(git, checkout, base));
      const marked = isAsked ? await markedAsGenerated(git, checkout, base, others) : [];
      return new Set([...byName.map(({ path }) => path), ...marked]);
    },
  };
}

async function markedAsGenerated(git: Git, checkout: string, base: string, paths: string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-index-'));
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index'), LC_ALL: 'C' };
    if ((await git.try(checkout, ['read-tree', base], env)).failed) return [];
    const found: string[] = [];
    for (let at = 0; at < paths.length; at += PATHS_PER_CALL) {
      const ask = ['check-attr', '--cached', '-z', 'linguist-generated', '--', ...paths.slice(at, at + PATHS_PER_CALL)];
      const fields = (await git.try(checkout, ask, env)).stdout.split('\0');
      for (let n = 0; n + 2 < fields.length; n += 3)
        if (['set', 'true'].includes(fields[n + 2] ?? '')) found.push(fields[n] ?? '');
    }
    return found;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
