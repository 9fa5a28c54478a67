import { join } from 'node:path';
import type { GitSettingItem } from '@callboard/contract';
import { isAgreed } from '../../lib/git-agreement.ts';
import { runsHooks, withSafeOptions } from './command-line.ts';
import { hooksFolderOf } from './find-programs.ts';
import { makeHooksFolder, NO_HOOKS } from './hooks-folder.ts';
import { createInspection, type Inspect, type Inspection, type InspectionDeps } from './inspect-checkout.ts';
import type { CachedRepository, Repositories } from './known-repositories.ts';
import { type CheckoutLocation, locateCheckout, locateWorktree, pinned } from './locate-checkout.ts';
import {
  callOptions,
  effectiveValue,
  NO_HINTS,
  overridesFor,
  takesVariables,
  withoutCallOptions,
} from './overrides.ts';

/** A call of git that runs only programs that somebody agreed to. */
export interface GuardedCall {
  args: string[];
  env: Record<string, string>;
  /** Why git must not be called; null if it may. */
  refusal: string | null;
  pending: readonly GitSettingItem[];
}

export interface GitGuard {
  /** Prepares a call. @throws OperationalError `worktree_failed` if a worktree's `.git` file leads elsewhere */
  prepare(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<GuardedCall>;
  /** Returns the settings of the repository at this folder that nobody has agreed to, read now. */
  inspect(root: string): Promise<readonly GitSettingItem[]>;
}

export interface GuardDeps extends InspectionDeps {
  repositories: Repositories;
  /** Callboard's own folder for hooks. */
  hooksBase: string;
}

export function createGitGuard(deps: GuardDeps): GitGuard {
  const { run, env: userEnv, hooksBase } = deps;
  const review = createReview(deps, createInspection(deps));
  let version: ReturnType<typeof run> | undefined;

  async function knowsVariables(): Promise<boolean> {
    version ??= run('/', ['version'], {});
    return takesVariables((await version).stdout);
  }

  return {
    async prepare(cwd, args, env) {
      const safe = withSafeOptions(args);
      const reviewed = env.GIT_DIR === undefined ? await review(cwd) : null;
      if (reviewed === null) {
        const off = callOptions([...NO_HINTS, ...OFF, ['core.hooksPath', NO_HOOKS]], userEnv, await knowsVariables());
        return { args: [...off.args, ...safe], env: { ...off.env, ...env }, refusal: null, pending: [] };
      }
      const { place, agreed, inspection, items, pending, hooksFolder } = reviewed;
      const isNew = await knowsVariables();
      const overrides = overridesFor(inspection.entries, items, agreed, isNew);
      const fsmonitor = effectiveValue(inspection.entries, items, agreed, 'core.fsmonitor') ?? '';
      const folder = inspection.programs.hooks.get(hooksFolder);
      const hooks = (folder?.hooks ?? []).filter((hook) => folder?.isUsers === true || isAgreed(agreed, hook));
      // Without pending settings, git calls inside a hook run with the user's configuration alone; otherwise they stay restricted.
      const before = pending.length > 0 ? '' : withoutCallOptions(userEnv);
      const hooksPath = runsHooks(args) ? await makeHooksFolder(hooksBase, hooks, before) : NO_HOOKS;
      const all = [
        ...NO_HINTS,
        ...overrides.config,
        ['core.fsmonitor', fsmonitor] as const,
        ['core.hooksPath', hooksPath] as const,
      ];
      const options = callOptions(all, userEnv, isNew);
      return {
        args: [...options.args, ...safe],
        env: { ...pinned(place), ...options.env, ...overrides.env, ...env },
        refusal: overrides.refusal,
        pending,
      };
    },
    inspect: async (root) => {
      knowsVariables().catch(() => undefined); // starts early: the next call of git waits for it
      return (await review(root))?.pending ?? [];
    },
  };
}

/** A checkout's settings, and which of them people agreed to. */
interface Review {
  place: CheckoutLocation;
  agreed: readonly GitSettingItem[];
  inspection: Inspection;
  /** Settings of the repository that can run programs, without hooks. */
  items: GitSettingItem[];
  /** What nobody has agreed to, hooks included. */
  pending: GitSettingItem[];
  /** The folder that hooks are taken from. */
  hooksFolder: string;
}

/** Compares the settings of a checkout with what people agreed to, and reports the rest; null if the folder is no checkout. */
function createReview({ repositories, env }: GuardDeps, inspect: Inspect): (folder: string) => Promise<Review | null> {
  const home = env.HOME ?? '/';
  const reported = new Map<string, string>();

  async function agreeOnFirstUse(known: CachedRepository, main: CheckoutLocation): Promise<readonly GitSettingItem[]> {
    const { programs } = await inspect(main, []);
    const hooks = [...programs.hooks.values()].flatMap((folder) => folder.hooks);
    return repositories.agreeOnFirstUse(known.id, [...programs.items, ...foreignGitDir(main), ...hooks]);
  }

  function report(known: CachedRepository, place: CheckoutLocation, pending: readonly GitSettingItem[]): void {
    const now = JSON.stringify(pending);
    const before = reported.get(place.gitDir) ?? (known.agreed === null ? '[]' : undefined);
    if (before === now) return;
    reported.set(place.gitDir, now);
    repositories.reportPending(known.id, place.gitDir, pending);
  }

  return async (folder) => {
    const known = await repositories.find(folder);
    const main = locateCheckout(known?.root ?? folder);
    if (main === null) return null;
    const place = known === null || known.root === folder ? main : locateWorktree(folder, main);
    const agreed = known === null ? [] : (known.agreed ?? (await agreeOnFirstUse(known, main)));
    const inspection = await inspect(place, agreed);
    const items = [...inspection.programs.items, ...(place === main && known !== null ? foreignGitDir(main) : [])];
    const hooksPath = effectiveValue(inspection.entries, items, agreed, 'core.hookspath');
    const hooksFolder = hooksFolderOf(place, hooksPath === undefined ? null : { value: hooksPath }, home);
    const hooks = [inspection.programs.hooksFolder, hooksFolder].flatMap((path) => repositoryHooks(inspection, path));
    const pending = [...items, ...hooks].filter((item) => !isAgreed(agreed, item));
    if (known !== null) report(known, place, pending);
    return { place, agreed, inspection, items, pending, hooksFolder };
  };
}

const OFF: [string, string][] = [['core.fsmonitor', '']];

/** A main checkout whose `.git` is not a folder could lead to another repository. */
const foreignGitDir = ({ root, gitDir, isPlain }: CheckoutLocation): GitSettingItem[] =>
  isPlain ? [] : [{ kind: 'repository', name: '.git', value: gitDir, file: join(root, '.git'), contents: null }];

/** Hooks of the repository; the user's own hooks need no agreement. */
function repositoryHooks({ programs }: Inspection, path: string): GitSettingItem[] {
  const folder = programs.hooks.get(path);
  return folder === undefined || folder.isUsers ? [] : folder.hooks;
}
