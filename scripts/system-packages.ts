import { canInstallPackages, installPackages, isExecutable } from './debian.ts';

/** What tests use where it is there: the Debian package, and the program that it brings. */
const PACKAGES: readonly (readonly [name: string, program: string])[] = [
  ['git-lfs', 'git-lfs'],
  ['bubblewrap', 'bwrap'],
  ['socat', 'socat'],
];

/**
 * Installs what is missing, as root on Debian; elsewhere nothing, and the tests that need it are skipped.
 * @returns the packages that are still missing
 */
export function ensureSystemPackages(): string[] {
  const missing = missingPackages();
  if (missing.length === 0 || !canInstallPackages()) return missing;
  installPackages(missing);
  return missingPackages();
}

function missingPackages(): string[] {
  const folders = (process.env.PATH ?? '').split(':');
  const isMissing = (program: string) => !folders.some((folder) => isExecutable(`${folder}/${program}`));
  return PACKAGES.flatMap(([name, program]) => (isMissing(program) ? [name] : []));
}
