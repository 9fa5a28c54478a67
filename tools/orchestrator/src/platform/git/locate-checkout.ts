import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { GitSettingItem } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { OperationalError } from '../../lib/errors.ts';

/** The folders of a checkout. */
export interface CheckoutLocation {
  /** The top of the checkout. */
  root: string;
  gitDir: string;
  /** Shared by all checkouts of the repository: configuration, objects, hooks. */
  commonDir: string;
  /** `.git` is a folder, as in a plain clone. */
  isPlain: boolean;
}

/**
 * Returns the folders of the checkout whose top is `root`; null if there is none. Synchronous, because it runs before each call
 * of git: the kernel answers at once, and a thread would cost ten times as much.
 */
export function locateCheckout(root: string): CheckoutLocation | null {
  const dotGit = join(root, '.git');
  const stat = tryOrUndefined(() => lstatSync(dotGit, { throwIfNoEntry: false }));
  if (stat === undefined) return null;
  if (stat.isDirectory()) return { root, gitDir: dotGit, commonDir: dotGit, isPlain: true };
  const gitDir = stat.isSymbolicLink() ? real(dotGit) : real(target(root, dotGit));
  if (gitDir === null) return null;
  const common = textOf(join(gitDir, 'commondir'))?.trim();
  const commonDir = common === undefined ? gitDir : real(resolve(gitDir, common));
  return commonDir === null ? null : { root, gitDir, commonDir, isPlain: false };
}

/** What stands in the place of a stage's worktree. */
export interface Misplaced {
  /**
   * `gone`: nothing. `unlinked`: the folder that was made, without its `.git` file. `unlisted`: a folder whose `.git` file leads to
   * an entry that the repository no longer has. `moved`: git knows it at another path. `copy`: a folder with the right `.git` file
   * that is not the one that was made. `other`: a folder of something else.
   */
  kind: 'gone' | 'link' | 'file' | 'empty' | 'unlinked' | 'unlisted' | 'moved' | 'copy' | 'other';
  /** A sentence for people. */
  text: string;
}

/**
 * Returns the folders of a stage's worktree. It must be the one that was made for the repository: otherwise whoever rewrites its
 * `.git` file, or puts another folder in its place, could point our git to a configuration of their own.
 * @throws OperationalError `worktree_replaced`
 */
export function locateWorktree(folder: string, main: CheckoutLocation): CheckoutLocation {
  const misplaced = whatStandsAt(folder, main);
  const place = misplaced === null ? locateCheckout(folder) : null;
  if (place !== null) return { ...place, commonDir: main.commonDir };
  throw replaced(misplaced ?? { kind: 'other', text: `${folder} has just changed.` });
}

/** The refusal to run anything there. */
export const replaced = ({ text }: Misplaced): OperationalError =>
  new OperationalError(
    'worktree_replaced',
    `${text} Nothing was run. Make the worktree again from its branch, on the stage's page.`,
  );

/** Returns what stands at the path of a stage's worktree; null if it is the worktree that was made there. */
function whatStandsAt(folder: string, main: CheckoutLocation): Misplaced | null {
  const stat = tryOrUndefined(() => lstatSync(folder, { throwIfNoEntry: false }));
  if (stat === undefined) return { kind: 'gone', text: `There is no worktree at ${folder} any more.` };
  if (stat.isSymbolicLink()) {
    const to = tryOrUndefined(() => readlinkSync(folder)) ?? 'somewhere else';
    return { kind: 'link', text: `${folder} is a symbolic link to ${to}, not the worktree that Callboard made.` };
  }
  if (!stat.isDirectory()) return { kind: 'file', text: `${folder} is a file, not the worktree that Callboard made.` };
  const place = locateCheckout(folder);
  const commonDir = real(main.commonDir);
  const admin = commonDir === null ? null : (real(join(commonDir, 'worktrees')) ?? join(commonDir, 'worktrees'));
  const back = place === null ? undefined : textOf(join(place.gitDir, 'gitdir'))?.trim();
  const isOurs =
    place !== null &&
    place.commonDir === commonDir &&
    dirname(place.gitDir) === admin &&
    back !== undefined &&
    resolve(place.gitDir, back) === join(folder, '.git');
  if (!isOurs) return whatElse(folder, { place, back, admin, stat });
  if (isSigned(place.gitDir, folder, stat) !== false) return null;
  return { kind: 'copy', text: `${folder} is not the folder that Callboard made, but has its .git file.` };
}

/** As `whatStandsAt`, by the path of the main checkout. */
export function misplacedAt(repository: string, path: string): Misplaced | null {
  const main = locateCheckout(repository);
  if (main !== null) return whatStandsAt(path, main);
  return { kind: 'gone', text: `${repository} is no repository any more.` };
}

function whatElse(
  folder: string,
  found: { place: CheckoutLocation | null; back: string | undefined; admin: string | null; stat: Stats },
): Misplaced {
  const { place, back, admin, stat } = found;
  const names = tryOrUndefined(() => readdirSync(folder)) ?? [];
  if (names.length === 0)
    return { kind: 'empty', text: `${folder} is an empty folder, not the worktree that Callboard made.` };
  const dotGit = join(folder, '.git');
  const leadsTo = place?.gitDir ?? (names.includes('.git') ? target(folder, dotGit) : null);
  const points =
    leadsTo === null || leadsTo === join(folder, 'nowhere') ? 'is missing or points nowhere' : `points to ${leadsTo}`;
  if (admin !== null && leadsTo !== null && dirname(leadsTo) === admin) {
    if (place === null)
      return { kind: 'unlisted', text: `The repository no longer has an entry for the worktree ${folder}.` };
    if (back !== undefined && resolve(leadsTo, back) !== dotGit)
      return { kind: 'moved', text: `The repository has the worktree ${folder} at ${dirname(back)}.` };
  }
  const entry = entryIn(admin, folder);
  if (entry !== null && isSigned(entry, folder, stat) === true)
    return { kind: 'unlinked', text: `The file ${dotGit} ${points}, not to the repository of the stage.` };
  if (place?.isPlain === true)
    return { kind: 'other', text: `${folder} is a repository of its own, not the worktree that Callboard made.` };
  const count = names.length === 1 ? '1 entry' : `${names.length} entries`;
  const text = `${folder} is a folder with ${count}, not the worktree that Callboard made: its .git file ${points}.`;
  return { kind: 'other', text };
}

/** Returns the folder in which git keeps a worktree's own files, whether its folder exists or not; null if there is none. */
export function entryOf(repository: string, worktree: string): string | null {
  const main = locateCheckout(repository);
  return main === null ? null : entryIn(real(join(main.commonDir, 'worktrees')), worktree);
}

function entryIn(admin: string | null, worktree: string): string | null {
  if (admin === null) return null;
  for (const name of tryOrUndefined(() => readdirSync(admin)) ?? []) {
    const back = textOf(join(admin, name, 'gitdir'))?.trim();
    if (back !== undefined && resolve(admin, name, back) === join(worktree, '.git')) return join(admin, name);
  }
  return null;
}

/** The file, among git's own files of a worktree, that says which folder it was made in. It goes with them. */
const SIGN = 'callboard-folder';

/** Remembers which folder the worktree is in. Where that cannot be written, the folder is known by its `.git` file alone. */
export function signFolder(folder: string): void {
  const place = locateCheckout(folder);
  const stat = tryOrUndefined(() => lstatSync(folder));
  if (place === null || place.isPlain || stat === undefined) return;
  const sign = `${bootId()} ${stat.dev} ${stat.ino}\n`;
  const file = join(place.gitDir, SIGN);
  if (textOf(file) !== sign) tryOrUndefined(() => writeFileSync(file, sign));
}

/** Whether this is the folder that was made; null if that is unknown. */
function isSigned(entry: string, folder: string, stat: Stats): boolean | null {
  const [, boot, device, inode] = /^(\S+) (\d+) (\d+)$/.exec(textOf(join(entry, SIGN))?.trim() ?? '') ?? [];
  if (boot !== bootId()) return null;
  if (String(stat.ino) !== inode) return false;
  // A disk that was attached again may have another number, and then the folder above has that too.
  return String(stat.dev) === device || tryOrUndefined(() => lstatSync(dirname(folder)).dev) === stat.dev;
}

let boot: string | undefined;

/** Numbers of devices and of folders may change with a restart of the machine. */
function bootId(): string {
  boot ??= textOf('/proc/sys/kernel/random/boot_id')?.trim() || 'unknown';
  return boot;
}

function target(root: string, dotGit: string): string {
  const [, path = ''] = /^gitdir: (.*)/.exec(textOf(dotGit) ?? '') ?? [];
  return path === '' ? join(root, 'nowhere') : resolve(root, path);
}

function tryOrUndefined<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

const real = (path: string): string | null => tryOrUndefined(() => realpathSync.native(path)) ?? null;

/** Paths are shorter. */
const MAX_LENGTH = 16 * 1024;

/** Programs in the checkout may have put a pipe or an endless file there: neither may block us. */
const textOf = (file: string): string | undefined =>
  tryOrUndefined(() => {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const text = Buffer.alloc(MAX_LENGTH);
      return text.toString('utf8', 0, readSync(fd, text));
    } finally {
      closeSync(fd);
    }
  });

/** Returns the variables that keep git from searching for its repository, and its configuration, anywhere else. */
export const pinned = ({ root, gitDir, commonDir }: CheckoutLocation): Record<string, string> => ({
  GIT_DIR: gitDir,
  GIT_WORK_TREE: root,
  ...(commonDir === gitDir ? {} : { GIT_COMMON_DIR: commonDir }),
});

/**
 * Files at the top of the checkout that Claude Code's sandbox keeps commands from creating (2.1.330). While a command runs,
 * the sandbox puts something empty in the place of each one that does not exist.
 */
export const PLACEHOLDERS: readonly string[] = [
  ...['.bash_profile', '.bashrc', '.gitconfig', '.gitmodules', '.idea', '.mcp.json', '.profile', '.ripgreprc'],
  ...['.vscode', '.zprofile', '.zshrc'],
  ...[
    ...['.cc-writes', 'agents', 'commands', 'hooks', 'launch.json', 'loop.md', 'output-styles', 'routines', 'rules'],
    ...['scheduled_tasks.json', 'settings.json', 'settings.local.json', 'skills', 'workflows'],
  ].map((name) => `.claude/${name}`),
];

/** Returns in words that these files were committed. */
export function placeholderText(files: readonly string[]): string {
  const [list, rest] = [files.slice(0, 5).join(', '), files.length > 5 ? ', …' : ''];
  const what = files.length === 1 ? '1 file of the branch is' : `${files.length} files of the branch are`;
  return `${what} only a placeholder of Claude Code’s sandbox, committed by mistake (${list}${rest}).`.replace(
    'are only a placeholder of',
    'are only placeholders of',
  );
}

/** An entry of git's configuration from any file. Git reads entries in order. */
export interface ConfigEntry {
  key: string;
  value: string;
  /** From the repository's configuration or a file that it includes; other entries are the user's or the machine's. */
  isLocal: boolean;
  file: string;
}

export const LIST_CONFIGURATION = ['config', '--list', '-z', '--show-scope', '--show-origin', '--includes'];

/** Parses the output of `LIST_CONFIGURATION`: `scope\0origin\0key\nvalue\0`; a key without a value means true. */
export function parseConfiguration(printed: string, { root }: CheckoutLocation): ConfigEntry[] {
  const fields = printed.split('\0');
  const entries: ConfigEntry[] = [];
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [scope = '', origin = '', line = ''] = fields.slice(at, at + 3);
    const end = line.indexOf('\n');
    entries.push({
      key: end < 0 ? line : line.slice(0, end),
      value: end < 0 ? 'true' : line.slice(end + 1),
      isLocal: scope === 'local' || scope === 'worktree',
      file: origin.startsWith('file:') ? resolve(root, origin.slice('file:'.length)) : origin,
    });
  }
  return entries;
}

/** The repositories that Callboard calls git in, with the git settings that people agreed to. */
export interface Repositories {
  /** Finds the repository whose main checkout, or worktree of a stage, is this folder; null if it is none of Callboard's. */
  find(folder: string): Promise<CachedRepository | null>;
  /**
   * Agrees to the settings found at the first look: a person set them up, since nothing of Callboard has run there yet.
   * @returns the settings that are agreed to from now on
   */
  agreeOnFirstUse(id: string, items: readonly GitSettingItem[]): Promise<readonly GitSettingItem[]>;
  /** Hears which settings of a checkout nobody has agreed to; called again only if they change. */
  reportPending(id: string, checkout: string, pending: readonly GitSettingItem[]): void;
}

export interface CachedRepository {
  id: string;
  /** Its main checkout. */
  root: string;
  /** null before the first look. */
  agreed: readonly GitSettingItem[] | null;
}

/** Works without a store: agrees to the settings that a repository has at the first call of git in it, until this process ends. */
export function trustOnFirstUse(): Repositories {
  const agreed = new Map<string, readonly GitSettingItem[]>();
  return {
    async find(folder) {
      const place = locateCheckout(folder);
      if (place === null) return null;
      const root = place.isPlain ? folder : dirname(place.commonDir);
      return { id: root, root, agreed: agreed.get(root) ?? null };
    },
    async agreeOnFirstUse(id, items) {
      if (!agreed.has(id)) agreed.set(id, items);
      return agreed.get(id) ?? items;
    },
    reportPending: () => undefined,
  };
}

/** The part of git that is used here. */
interface AskGit {
  must(cwd: string, args: readonly string[]): Promise<string>;
}

/**
 * Outside the sandbox, a placeholder is the mount point: an empty file that not even its owner may write, which nobody creates
 * by hand. It exists while the command runs, also in the background, and stays for ever if the sandbox was killed.
 */
const WRITE_BITS = 0o222;

/** Synchronous, because there are many: the kernel answers in a tenth of the time that a thread takes. */
function isPlaceholder(path: string): boolean {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true && found.size === 0 && (found.mode & WRITE_BITS) === 0;
  } catch {
    return false; // we may not read it
  }
}

/** Returns the sandbox's mount points at the top of a checkout, as relative paths. They are nobody's work. */
export const placeholdersIn = (checkout: string): string[] =>
  PLACEHOLDERS.filter((name) => isPlaceholder(join(checkout, name)));

/**
 * Removes mount points that a killed sandbox left at the top of a checkout; tracked files stay. Call it only while the session
 * has no process: a removed mount point no longer protects anything. @throws OperationalError `worktree_failed`; a system error
 */
export async function removePlaceholders(git: AskGit, checkout: string): Promise<void> {
  const found = placeholdersIn(checkout);
  if (found.length === 0) return;
  const tracked = new Set((await git.must(checkout, ['ls-files', '-z', '--', ...found])).split('\0'));
  for (const name of found) if (!tracked.has(name)) await remove(join(checkout, name));
}

/**
 * Removes the lock that a killed sandbox left on a repository's configuration: it breaks `git config` and `git push -u` in every
 * checkout. Git's own lock is writable, and stays.
 * @throws a system error
 */
export async function removeConfigLock(checkout: string): Promise<void> {
  const place = locateCheckout(checkout);
  if (place === null) return;
  const lock = join(place.commonDir, 'config.lock');
  if (isPlaceholder(lock)) await remove(lock);
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
  });
}
