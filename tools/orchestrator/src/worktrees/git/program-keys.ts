/**
 * Every key of git's configuration that could make one of our calls run a program, and how to switch it off if the repository
 * sets it and nobody has agreed to it. `guard.ts` (fsmonitor, hooks), `command-line.ts` (external diffs) and `run-git.ts`
 * (editor, askpass, redirections) restrict every call anyway.
 *
 * Left out, because none of our calls runs them: `alias.*`, `pager.*`, `core.pager`, `core.editor`, `sequence.editor`,
 * `interactive.diffFilter`, `trailer.*`, `difftool.*`, `mergetool.*`, `guitool.*`, `gui.*`, `man.*`, `browser.*`, `web.*`,
 * `instaweb.*`, `sendemail.*`, `tar.*`, `submodule.*.update`, `uploadpack.packObjectsHook` (git reads that one from the
 * user's configuration alone), `init.templateDir`. `core.worktree` and `core.bare` have no effect, since both folders are pinned.
 */
export interface ProgramKey {
  /** With sections and names in lower case, as `git config --list` prints them. */
  readonly keys: RegExp;
  /** The calls that would run it. */
  readonly runs: string;
  readonly off: Off;
  /** A value that runs nothing. */
  readonly isHarmless?: (value: string, key: string) => boolean;
}

export type Off =
  /** Another value; a value in the user's own configuration takes precedence. */
  | { readonly value: string }
  /** Other keys. */
  | { readonly keys: (key: string, value: string) => readonly (readonly [string, string])[] }
  | { readonly env: Readonly<Record<string, string>> }
  /** A list, which an empty value clears. */
  | { readonly list: string }
  /** Switched off in every call by an option, or by overrides of the keys that it includes. */
  | { readonly always: true };

const BOOLEAN = /^(true|false|yes|no|on|off|0|1|)$/i;
const FALSE = /^(false|no|off|0|)$/i;
const HELPER_URL = /^([a-z0-9]+)::/i;
const NEVER_AUTO = () => [['gc.auto', '0'] as const, ['maintenance.auto', 'false'] as const];

/** Git's default three-way merge of text, without a driver. */
const TEXT_MERGE = 'git merge-file --marker-size=%L %A %O %B';

/** Returns the transport helper in a URL: `ext` in `ext::sh -c ...`. */
const helperOf = (key: string, value: string): string | undefined =>
  HELPER_URL.exec(key.startsWith('url.') ? key.slice('url.'.length) : value)?.[1];

const NO_HELPER: Pick<ProgramKey, 'off' | 'isHarmless'> = {
  off: { keys: (key, value) => [[`protocol.${helperOf(key, value) ?? 'ext'}.allow`, 'never']] },
  isHarmless: (value, key) => helperOf(key, value) === undefined,
};

const FETCH = 'fetches of missing objects in a partial clone; pushes';

const PROGRAM_KEYS: readonly ProgramKey[] = [
  {
    keys: /^core\.fsmonitor$/,
    runs: 'status, add, diff, merge, checkout',
    off: { always: true },
    isHarmless: (v) => BOOLEAN.test(v),
  },
  { keys: /^core\.hookspath$/, runs: 'merge, commit, checkout, worktree add', off: { always: true } },
  { keys: /^core\.virtualfilesystem$/, runs: 'status, add, checkout (a fork of git)', off: { value: '' } },
  { keys: /^hook\..+\.command$/, runs: 'merge, commit, checkout (newer git)', off: { value: ':' } },
  {
    keys: /^filter\..+\.(clean|process)$/,
    runs: 'add, diff, status, commit, merge',
    off: { value: '' },
    isHarmless: (v) => v === '',
  },
  {
    keys: /^filter\..+\.smudge$/,
    runs: 'merge, checkout, worktree add',
    off: { value: '' },
    isHarmless: (v) => v === '',
  },
  { keys: /^lfs\.extension\..+\.(clean|smudge)$/, runs: 'whatever runs the LFS filter', off: { value: '' } },
  { keys: /^lfs\.customtransfer\..+\.(path|args)$/, runs: 'whatever runs the LFS filter', off: { value: '' } },
  { keys: /^lfs\.(.+\.)?standalonetransferagent$/, runs: 'whatever runs the LFS filter', off: { value: '' } },
  { keys: /^merge\..+\.driver$/, runs: 'merge, merge-tree, rebase', off: { value: TEXT_MERGE } },
  { keys: /^diff\.external$/, runs: 'diff', off: { always: true } },
  { keys: /^diff\..+\.(command|textconv)$/, runs: 'diff', off: { always: true } },
  {
    keys: /^(commit\.gpgsign|merge\.verifysignatures|log\.showsignature)$/,
    runs: 'merge, commit, log: the program for signatures',
    off: { value: 'false' },
    isHarmless: (v) => FALSE.test(v),
  },
  { keys: /^gpg\.(openpgp\.)?program$/, runs: 'merge and commit where they are signed', off: { value: 'gpg' } },
  { keys: /^gpg\.x509\.program$/, runs: 'merge and commit where they are signed', off: { value: 'gpgsm' } },
  { keys: /^gpg\.ssh\.program$/, runs: 'merge and commit where they are signed', off: { value: 'ssh-keygen' } },
  { keys: /^gpg\.ssh\.defaultkeycommand$/, runs: 'merge and commit where they are signed', off: { value: '' } },
  { keys: /^core\.sshcommand$/, runs: FETCH, off: { value: 'ssh' } },
  { keys: /^core\.askpass$/, runs: FETCH, off: { value: '' } },
  { keys: /^core\.gitproxy$/, runs: FETCH, off: { env: { GIT_PROXY_COMMAND: '' } } },
  { keys: /^core\.alternaterefscommand$/, runs: FETCH, off: { value: ':' } },
  {
    keys: /^credential\.(.+\.)?helper$/,
    runs: FETCH,
    off: { list: 'credential.helper' },
    isHarmless: (v) => v === '',
  },
  { keys: /^remote\..+\.uploadpack$/, runs: FETCH, off: { value: 'git-upload-pack' } },
  { keys: /^remote\..+\.receivepack$/, runs: FETCH, off: { value: 'git-receive-pack' } },
  {
    keys: /^remote\..+\.vcs$/,
    runs: FETCH,
    off: { keys: (_key, value) => [[`protocol.${value.toLowerCase()}.allow`, 'never']] },
  },
  { keys: /^remote\..+\.(url|pushurl)$/, runs: FETCH, ...NO_HELPER },
  { keys: /^url\..+\.(insteadof|pushinsteadof)$/, runs: FETCH, ...NO_HELPER },
  {
    keys: /^protocol\.(.+\.)?allow$/,
    runs: FETCH,
    off: { keys: (key) => (key === 'protocol.allow' ? [['protocol.ext.allow', 'never']] : [[key, 'never']]) },
    isHarmless: (value) => value === 'never',
  },
  {
    keys: /^submodule\.recurse$/,
    runs: 'git in submodules, at a checkout',
    off: { value: 'false' },
    isHarmless: (v) => FALSE.test(v),
  },
  { keys: /^gc\.recentobjectshook$/, runs: 'the garbage collection after a merge', off: { keys: NEVER_AUTO } },
  { keys: /^include(if\..+)?\.path$/, runs: 'nothing itself; includes other keys', off: { always: true } },
];

/** Returns the row of a key if its value can run a program; undefined otherwise. */
export function programKeyOf(key: string, value: string): ProgramKey | undefined {
  const row = PROGRAM_KEYS.find(({ keys }) => keys.test(key));
  return row?.isHarmless?.(value, key) === true ? undefined : row;
}

/** The hooks that our calls can run. */
export const HOOKS: ReadonlySet<string> = new Set([
  ...['applypatch-msg', 'pre-applypatch', 'post-applypatch', 'pre-commit', 'pre-merge-commit', 'prepare-commit-msg'],
  ...['commit-msg', 'post-commit', 'pre-rebase', 'post-checkout', 'post-merge', 'pre-push', 'post-rewrite'],
  ...['reference-transaction', 'post-index-change', 'pre-auto-gc'],
]);
