import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';

/** What tests use where it is there: the Debian package, and the program that it brings. */
const PACKAGES: readonly (readonly [name: string, program: string])[] = [['git-lfs', 'git-lfs']];

/**
 * Installs what is missing, as root on Debian; elsewhere nothing, and the tests that need it are skipped.
 * @returns the packages that are still missing
 */
export function ensureSystemPackages(): string[] {
  const missing = missingPackages();
  const isDebianRoot = process.getuid?.() === 0 && isExecutable('/usr/bin/apt-get');
  if (missing.length === 0 || !isDebianRoot) return missing;
  run('apt-get', ['update']);
  run('apt-get', ['install', '-y', ...missing]);
  return missingPackages();
}

function missingPackages(): string[] {
  const folders = (process.env.PATH ?? '').split(':');
  const isMissing = (program: string) => !folders.some((folder) => isExecutable(`${folder}/${program}`));
  return PACKAGES.flatMap(([name, program]) => (isMissing(program) ? [name] : []));
}

function run(command: string, args: string[]): void {
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
