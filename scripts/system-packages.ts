import { canInstallPackages, installPackages, isInstalled } from './debian.ts';

/** Optional programs of the tests: the Debian package and the program that it contains. */
const PACKAGES: readonly (readonly [name: string, program: string])[] = [
  ['git-lfs', 'git-lfs'],
  ['bubblewrap', 'bwrap'],
  ['socat', 'socat'],
  ['gh', 'gh'],
  ['openssl', 'openssl'],
  ['nginx', 'nginx'],
  ['caddy', 'caddy'],
  ['zsh', 'zsh'],
  ['fish', 'fish'],
  ['postgresql', 'postgres'],
];

/**
 * Installs missing packages, as root on Debian. Elsewhere it installs nothing, and the tests that need them are skipped.
 * @returns the packages that are still missing
 */
export function ensureSystemPackages(): string[] {
  const missing = missingPackages();
  if (missing.length === 0 || !canInstallPackages()) return missing;
  installPackages(missing);
  return missingPackages();
}

function missingPackages(): string[] {
  return PACKAGES.flatMap(([name, program]) => (isInstalled(program) ? [] : [name]));
}
