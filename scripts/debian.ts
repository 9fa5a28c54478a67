import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';

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

/** Whether a program is in a folder of `PATH`. */
export const isInstalled = (program: string): boolean =>
  (process.env.PATH ?? '').split(':').some((folder) => isExecutable(`${folder}/${program}`));

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
