/**
 * Every key of git's configuration by which one of our calls of git could run a program, and how it is switched off where it
 * stands in the repository's own configuration and nobody has agreed to it. What is pinned for every call anyway stands in
 * `git-overrides.ts` (fsmonitor, hooks, external diffs) and `git-environment.ts` (editor, askpass, redirections).
 *
 * Left out, since none of our calls runs them: `alias.*`, `pager.*`, `core.pager`, `core.editor`, `sequence.editor`,
 * `interactive.diffFilter`, `trailer.*`, `difftool.*`, `mergetool.*`, `guitool.*`, `gui.*`, `man.*`, `browser.*`, `web.*`,
 * `instaweb.*`, `sendemail.*`, `tar.*`, `submodule.*.update`, `uploadpack.packObjectsHook` (git reads that one from the
 * user's configuration alone), `init.templateDir`. `core.worktree` and `core.bare` have no say, since both folders are pinned.
 */
export interface ProgramKey {
  /** Sections and names are in lower case, as `git config --list` prints them. */
  readonly keys: RegExp;
  /** Which of our calls would run it. */
  readonly runs: string;
  readonly off: Off;
  /** A value that runs nothing. */
  readonly isHarmless?: (value: string, key: string) => boolean;
}

export type Off =
  /** Another value; that of the user's own configuration comes first where there is one. */
  | { readonly value: string }
  /** Other keys. */
  | { readonly keys: (key: string, value: string) => readonly (readonly [string, string])[] }
  | { readonly env: Readonly<Record<string, string>> }
  /** A list that an empty value begins anew. */
  | { readonly list: string }
  /** Switched off in every call by an option, or by the overrides of the keys that it brings. */
  | { readonly always: true };

const BOOLEAN = /^(true|false|yes|no|on|off|0|1|)$/i;
const FALSE = /^(false|no|off|0|)$/i;
const HELPER_URL = /^([a-z0-9]+)::/i;
const NEVER_AUTO = () => [['gc.auto', '0'] as const, ['maintenance.auto', 'false'] as const];

/** The default three-way merge of text, as git does it without a driver. */
const TEXT_MERGE = 'git merge-file --marker-size=%L %A %O %B';

/** The transport helper that a URL names: `ext` in `ext::sh -c ...`. */
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
  { keys: /^gc\.recentobjectshook$/, runs: 'the clearing up after a merge', off: { keys: NEVER_AUTO } },
  { keys: /^include(if\..+)?\.path$/, runs: 'nothing itself; brings other keys', off: { always: true } },
];

/** The row of a key that can run a program as it is set; undefined: it runs nothing. */
export function programKeyOf(key: string, value: string): ProgramKey | undefined {
  const row = PROGRAM_KEYS.find(({ keys }) => keys.test(key));
  return row?.isHarmless?.(value, key) === true ? undefined : row;
}

/** The hooks that one of our calls can run. */
export const HOOKS: ReadonlySet<string> = new Set([
  ...['applypatch-msg', 'pre-applypatch', 'post-applypatch', 'pre-commit', 'pre-merge-commit', 'prepare-commit-msg'],
  ...['commit-msg', 'post-commit', 'pre-rebase', 'post-checkout', 'post-merge', 'pre-push', 'post-rewrite'],
  ...['reference-transaction', 'post-index-change', 'pre-auto-gc'],
]);
