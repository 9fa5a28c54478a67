import { join } from 'node:path';
import type { GitSettingItem } from '@callboard/contract';
import { OperationalError } from '../../lib/errors.ts';
import { signOf } from '../../lib/file-signs.ts';
import { type ConfigEntry, LIST_CONFIGURATION, parseConfiguration } from './configuration.ts';
import { findPrograms, type GitPrograms } from './find-programs.ts';
import { type CheckoutLocation, pinned } from './locate-checkout.ts';
import type { GitResult } from './run-git.ts';

/** The configuration of a checkout, and the programs that git would run because of it. */
export interface Inspection {
  entries: ConfigEntry[];
  programs: GitPrograms;
}

export interface InspectionDeps {
  /** Runs git without the guard; reading the configuration runs nothing else. */
  run(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<GitResult>;
  /** The environment that git gets. */
  env: Readonly<Record<string, string>>;
}

/** @throws OperationalError `worktree_failed` if git cannot list the configuration */
export type Inspect = (place: CheckoutLocation, agreed: readonly GitSettingItem[]) => Promise<Inspection>;

/** Reads a checkout's configuration and hooks, and again only when one of the files that they depend on has changed. */
export function createInspection({ run, env }: InspectionDeps): Inspect {
  const home = env.HOME ?? '/';
  /** By git directory: the last result, and the signature of its files. */
  const cache = new Map<string, Inspection & { signature: string }>();

  async function read(place: CheckoutLocation, hooksPaths: readonly string[]): Promise<Inspection> {
    const { failed, stdout, stderr } = await run(place.root, LIST_CONFIGURATION, pinned(place));
    if (failed) throw new OperationalError('worktree_failed', `git config --list failed in ${place.root}: ${stderr}`);
    const entries = parseConfiguration(stdout, place);
    return { entries, programs: await findPrograms(place, entries, home, hooksPaths) };
  }

  function watchedFiles(place: CheckoutLocation, { entries, programs }: Inspection): string[] {
    const users = [env.GIT_CONFIG_GLOBAL, join(home, '.gitconfig'), '/etc/gitconfig'];
    const xdg = join(env.XDG_CONFIG_HOME ?? join(home, '.config'), 'git', 'config');
    const own = [join(place.commonDir, 'config'), join(place.gitDir, 'config.worktree')];
    const files = [...own, ...users, xdg, ...entries.map(({ file }) => file), ...programs.watched];
    return [...new Set(files.filter((file) => file?.startsWith('/')))].filter((file) => file !== undefined);
  }

  /** The files that matter in a repository without unusual settings. */
  const usualFiles = (place: CheckoutLocation): string[] =>
    watchedFiles(place, { entries: [], programs: { ...NO_PROGRAMS, watched: [join(place.commonDir, 'hooks')] } });

  return async (place, agreed) => {
    const hooksPaths = agreed.filter(({ name }) => name === 'core.hookspath').map(({ value }) => value);
    const signatureOf = (watched: readonly string[], signs: string) => JSON.stringify([hooksPaths, watched, signs]);
    const sign = (inspection: Inspection) => {
      const watched = watchedFiles(place, inspection);
      return signatureOf(watched, signOf(watched));
    };
    const known = cache.get(place.gitDir);
    if (known !== undefined && sign(known) === known.signature) return known;
    // Only the result says which files matter, and it must not be older than their signature. So the usual files are
    // signed before reading; if others matter as well, it is read once more after those are signed.
    const before = new Map(usualFiles(place).map((file) => [file, signOf([file])]));
    let inspection = await read(place, hooksPaths);
    const watched = watchedFiles(place, inspection);
    const isUsual = watched.every((file) => before.has(file));
    const signature = isUsual
      ? signatureOf(watched, watched.map((file) => before.get(file)).join('\n'))
      : sign(inspection);
    if (!isUsual) inspection = await read(place, hooksPaths);
    const saved = { ...inspection, signature };
    cache.set(place.gitDir, saved);
    return saved;
  };
}

const NO_PROGRAMS: GitPrograms = { items: [], hooks: new Map(), hooksFolder: '', watched: [] };
