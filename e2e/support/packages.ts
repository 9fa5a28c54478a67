import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { AtEnd } from '../../test-support/temporary-folder.ts';
import { withoutRunner } from '../../test-support/without-runner.ts';
import type { Program } from './callboard.ts';

export const ROOT = join(import.meta.dirname, '..', '..');

/** Packs a checkout. @returns the path of the package */
export function pack(checkout: string, to: string, options: readonly string[] = []): string {
  const script = join(checkout, 'scripts', 'pack.ts');
  const said = execFileSync(process.execPath, [script, '--to', to, ...options], {
    env: withoutRunner(),
    encoding: 'utf8',
    stdio: 'pipe',
  });
  return said.slice(0, said.indexOf(': '));
}

/** Installs a package into an empty folder, away from the repository, without access to a registry. */
export async function installPackage(prefix: string, file: string): Promise<Program> {
  await mkdir(prefix, { recursive: true });
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', '--prefix', prefix, file], {
    encoding: 'utf8',
    cwd: '/',
    stdio: 'pipe',
    env: { ...process.env, HOME: prefix },
  });
  return {
    node: process.execPath,
    bin: join(prefix, 'node_modules', 'callboard', 'tools', 'cli', 'bin', 'callboard.js'),
  };
}

const git = (...args: string[]) => spawnSync('git', ['-C', ROOT, ...args], { encoding: 'utf8', stdio: 'pipe' });

/**
 * Checks a commit out into a folder that goes at the end of the test, with the packages of this checkout. A text says why it
 * cannot be packed.
 */
export async function checkOut(commit: string, folder: string, atEnd: AtEnd): Promise<{ lack: string | null }> {
  if (git('worktree', 'add', '--detach', folder, commit).status !== 0) return { lack: `there is no commit ${commit}` };
  atEnd(() => void git('worktree', 'remove', '--force', folder));
  if (!existsSync(join(folder, 'scripts', 'pack.ts'))) return { lack: `the commit ${commit} made no package` };
  if (git('diff', '--quiet', commit, '--', 'package-lock.json').status !== 0)
    return { lack: `the commit ${commit} was made of other packages` };
  await linkModules(folder);
  return { lack: null };
}

/** Gives a checkout the packages of this one, and its own links for the workspace packages. */
async function linkModules(checkout: string): Promise<void> {
  const modules = join(checkout, 'node_modules');
  await mkdir(join(modules, '@callboard'), { recursive: true });
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (!['@callboard', 'callboard'].includes(name))
      await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  for (const tool of await readdir(join(checkout, 'tools'))) {
    if (tool !== 'cli') await symlink(join(checkout, 'tools', tool), join(modules, '@callboard', tool));
    const nested = join(ROOT, 'tools', tool, 'node_modules');
    if (existsSync(nested)) await symlink(nested, join(checkout, 'tools', tool, 'node_modules'));
  }
}

/** The file with the migrations, in a checkout. */
export const MIGRATIONS = 'tools/orchestrator/src/store/sql/migrations.ts';

/** The highest id in the text of that file. */
export const newestIn = (text: string): number =>
  Math.max(...[...text.matchAll(/\bid: (\d+),/g)].map(([, id]) => Number(id)));

/** The newest commit with fewer migrations than another one; null if its history does not tell. */
export function commitWithFewerMigrations(than: string): string | null {
  const textAt = (commit: string): string => git('show', `${commit}:${MIGRATIONS}`).stdout;
  const most = newestIn(textAt(than));
  const changes = git('log', '--format=%H', than, '--', MIGRATIONS).stdout.trim().split('\n');
  for (const commit of changes) {
    if (commit === '' || newestIn(textAt(commit)) === most) continue;
    // The last one that still had these.
    const next = changes[changes.indexOf(commit) - 1] ?? than;
    return git('rev-parse', `${next}~1`).stdout.trim();
  }
  return null;
}
