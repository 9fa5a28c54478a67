import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync } from 'node:fs';
import { join } from 'node:path';

const POSTGRES_VERSIONS = '/usr/lib/postgresql';

/** Whether packages can be installed here: as root on Debian. */
export const canInstallPackages = (): boolean => process.getuid?.() === 0 && isExecutable('/usr/bin/apt-get');

/** Installs Debian packages. Callers check the result by looking for the installed programs. */
export function installPackages(names: readonly string[]): void {
  run('apt-get', ['update']);
  run('apt-get', ['install', '-y', ...names]);
}

/** Runs a command to its end and shows its errors. */
export function run(command: string, args: string[]): void {
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Whether a program is in a folder of `PATH`, or is one of PostgreSQL's, which Debian keeps elsewhere. */
export const isInstalled = (program: string): boolean => findProgram(program) !== undefined;

/** Returns the path of an installed program; of PostgreSQL's, the newest version's. */
export function findProgram(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':').filter((folder) => folder !== ''), ...postgresFolders()];
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

function postgresFolders(): string[] {
  try {
    const versions = readdirSync(POSTGRES_VERSIONS).map(Number).filter(Number.isFinite);
    return versions.toSorted((a, b) => b - a).map((version) => join(POSTGRES_VERSIONS, `${version}`, 'bin'));
  } catch {
    return [];
  }
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
