import { join } from 'node:path';
import type { GitSettingItem } from '@callboard/contract';
import { OperationalError } from '../lib/errors.ts';
import { signOf } from '../lib/file-signs.ts';
import { isAgreed } from '../lib/git-agreement.ts';
import type { GitResult } from './execute-git.ts';
import { runsHooks, withSafeOptions } from './git-call.ts';
import { type ConfigEntry, LIST_CONFIGURATION, parseConfiguration } from './git-configuration.ts';
import { folderOfHooks, NO_HOOKS } from './git-hooks.ts';
import { callOptions, takesVariables, withoutCallOptions } from './git-options.ts';
import { overridesFor, valueThatCounts } from './git-overrides.ts';
import { type GitPlace, locate, locateWorktree } from './git-place.ts';
import { findPrograms, type GitPrograms, hooksFolderOf } from './git-programs.ts';

/** What is known of the repositories that we call git in. */
export interface Repositories {
  /** The repository that has its main checkout, or the worktree of a stage, at this folder; null: none of ours. */
  find(folder: string): Promise<KnownRepository | null>;
  /** What stands there when we first look was set up by a person. @returns what counts as agreed from now on */
  begin(id: string, items: readonly GitSettingItem[]): Promise<readonly GitSettingItem[]>;
  /** What one of its checkouts has that nobody has agreed to; is told again only when it changes. */
  tell(id: string, checkout: string, pending: readonly GitSettingItem[]): void;
}

export interface KnownRepository {
  id: string;
  /** Its main checkout. */
  root: string;
  /** null: nobody has looked yet. */
  agreed: readonly GitSettingItem[] | null;
}

/** A call of git that runs nothing that nobody agreed to. */
export interface GuardedCall {
  args: string[];
  env: Record<string, string>;
  /** Why git must not be called; null: it may. */
  refusal: string | null;
  pending: readonly GitSettingItem[];
}

export interface GitGuard {
  /** @throws OperationalError `worktree_failed` where a worktree's `.git` file leads elsewhere */
  prepare(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<GuardedCall>;
  /** What the repository at this folder has that nobody has agreed to, looked at now. */
  look(root: string): Promise<readonly GitSettingItem[]>;
}

export interface GuardParts {
  repositories: Repositories;
  /** Git without a guard; for reading the configuration. */
  run(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<GitResult>;
  /** The environment that git gets. */
  env: Readonly<Record<string, string>>;
  /** A folder of our own for hooks. */
  hooksBase: string;
}

interface Looked {
  entries: ConfigEntry[];
  programs: GitPrograms;
}

export function createGitGuard({ repositories, run, env: userEnv, hooksBase }: GuardParts): GitGuard {
  const home = userEnv.HOME ?? '/';
  /** By git directory: what was read last, and how the files were then. */
  const cache = new Map<string, Looked & { signature: string }>();
  const told = new Map<string, string>();
  let version: Promise<GitResult> | undefined;

  async function knowsVariables(): Promise<boolean> {
    version ??= run('/', ['version'], {});
    return takesVariables((await version).stdout);
  }

  async function read(place: GitPlace, hooksPaths: readonly string[]): Promise<Looked> {
    const { failed, stdout, stderr } = await run(place.root, LIST_CONFIGURATION, pinned(place));
    if (failed) throw new OperationalError('worktree_failed', `git config --list failed in ${place.root}: ${stderr}`);
    const entries = parseConfiguration(stdout, place);
    return { entries, programs: await findPrograms(place, entries, home, hooksPaths) };
  }

  function watchedBy(place: GitPlace, { entries, programs }: Looked): string[] {
    const users = [userEnv.GIT_CONFIG_GLOBAL, join(home, '.gitconfig'), '/etc/gitconfig'];
    const xdg = join(userEnv.XDG_CONFIG_HOME ?? join(home, '.config'), 'git', 'config');
    const own = [join(place.commonDir, 'config'), join(place.gitDir, 'config.worktree')];
    const files = [...own, ...users, xdg, ...entries.map(({ file }) => file), ...programs.watched];
    return [...new Set(files.filter((file) => file?.startsWith('/')))].filter((file) => file !== undefined);
  }

  /** Files that count wherever there is nothing unusual. */
  const usual = (place: GitPlace): string[] =>
    watchedBy(place, { entries: [], programs: { ...NO_PROGRAMS, watched: [join(place.commonDir, 'hooks')] } });

  /** Reads only when one of the files has changed. */
  async function lookAt(place: GitPlace, agreed: readonly GitSettingItem[]): Promise<Looked> {
    const hooksPaths = agreed.filter(({ name }) => name === 'core.hookspath').map(({ value }) => value);
    const signatureOf = (watched: readonly string[], signs: string) => JSON.stringify([hooksPaths, watched, signs]);
    const sign = (looked: Looked) => {
      const watched = watchedBy(place, looked);
      return signatureOf(watched, signOf(watched));
    };
    const known = cache.get(place.gitDir);
    if (known !== undefined && sign(known) === known.signature) return known;
    // Which files count is known only from what is read, and that must not be older than their signature. So the usual ones
    // are looked at before; where others count as well, it is read once more.
    const before = new Map(usual(place).map((file) => [file, signOf([file])]));
    let looked = await read(place, hooksPaths);
    const watched = watchedBy(place, looked);
    const isUsual = watched.every((file) => before.has(file));
    const signature = isUsual ? signatureOf(watched, watched.map((file) => before.get(file)).join('\n')) : sign(looked);
    if (!isUsual) looked = await read(place, hooksPaths);
    const kept = { ...looked, signature };
    cache.set(place.gitDir, kept);
    return kept;
  }

  /** What a folder has, and what of it counts as agreed. */
  async function judge(folder: string) {
    const known = await repositories.find(folder);
    const main = locate(known?.root ?? folder);
    if (main === null) return null;
    const place = known === null || known.root === folder ? main : locateWorktree(folder, main);
    const agreed = known === null ? [] : (known.agreed ?? (await begin(known, main)));
    const looked = await lookAt(place, agreed);
    const items = [...looked.programs.items, ...(place === main && known !== null ? elsewhere(main) : [])];
    const users = valueThatCounts(looked.entries, items, agreed, 'core.hookspath');
    const ours = hooksFolderOf(place, users === undefined ? null : { value: users }, home);
    const pending = [...items, ...hooksOf(looked, looked.programs.hooksFolder), ...hooksOf(looked, ours)].filter(
      (item) => !isAgreed(agreed, item),
    );
    if (known !== null) tell(known, place, pending);
    return { place, agreed, looked, items, pending, hooksFolder: ours };
  }

  async function begin(known: KnownRepository, main: GitPlace): Promise<readonly GitSettingItem[]> {
    const { programs } = await lookAt(main, []);
    const hooks = [...programs.hooks.values()].flatMap((folder) => folder.hooks);
    return repositories.begin(known.id, [...programs.items, ...elsewhere(main), ...hooks]);
  }

  function tell(known: KnownRepository, place: GitPlace, pending: readonly GitSettingItem[]): void {
    const words = JSON.stringify(pending);
    const { agreed } = known;
    const before = told.get(place.gitDir) ?? (agreed === null ? '[]' : undefined);
    if (before === words) return;
    told.set(place.gitDir, words);
    repositories.tell(known.id, place.gitDir, pending);
  }

  return {
    async prepare(cwd, args, env) {
      const safe = withSafeOptions(args);
      const judged = env.GIT_DIR === undefined ? await judge(cwd) : null;
      if (judged === null) {
        const off = callOptions([...OFF, ['core.hooksPath', NO_HOOKS]], userEnv, await knowsVariables());
        return { args: [...off.args, ...safe], env: { ...off.env, ...env }, refusal: null, pending: [] };
      }
      const { place, agreed, looked, items, pending, hooksFolder } = judged;
      const isNew = await knowsVariables();
      const overrides = overridesFor(looked.entries, items, agreed, isNew);
      const fsmonitor = valueThatCounts(looked.entries, items, agreed, 'core.fsmonitor') ?? '';
      const folder = looked.programs.hooks.get(hooksFolder);
      const hooks = (folder?.hooks ?? []).filter((hook) => folder?.isUsers === true || isAgreed(agreed, hook));
      // Also the calls of git in a hook are spared what nobody has agreed to.
      const before = pending.length > 0 ? '' : withoutCallOptions(userEnv);
      const hooksPath = runsHooks(args) ? await folderOfHooks(hooksBase, hooks, before) : NO_HOOKS;
      const all = [...overrides.config, ['core.fsmonitor', fsmonitor] as const, ['core.hooksPath', hooksPath] as const];
      const options = callOptions(all, userEnv, isNew);
      return {
        args: [...options.args, ...safe],
        env: { ...pinned(place), ...options.env, ...overrides.env, ...env },
        refusal: overrides.refusal,
        pending,
      };
    },
    look: async (root) => {
      knowsVariables().catch(() => undefined); // beside it: the next call of git waits for it
      return (await judge(root))?.pending ?? [];
    },
  };
}

const OFF: [string, string][] = [['core.fsmonitor', '']];

const NO_PROGRAMS: GitPrograms = { items: [], hooks: new Map(), hooksFolder: '', watched: [] };

/** A main checkout whose `.git` is no folder could be led to another repository. */
const elsewhere = ({ root, gitDir, isPlain }: GitPlace): GitSettingItem[] =>
  isPlain ? [] : [{ kind: 'repository', name: '.git', value: gitDir, file: join(root, '.git'), contents: null }];

/** Hooks of the repository; those of the user run without a question. */
function hooksOf({ programs }: Looked, path: string): GitSettingItem[] {
  const folder = programs.hooks.get(path);
  return folder === undefined || folder.isUsers ? [] : folder.hooks;
}

/** Variables that keep git from looking for its repository, and its configuration, anywhere else. */
function pinned({ root, gitDir, commonDir }: GitPlace): Record<string, string> {
  return {
    GIT_DIR: gitDir,
    GIT_WORK_TREE: root,
    ...(commonDir === gitDir ? {} : { GIT_COMMON_DIR: commonDir }),
  };
}
