import { chromium } from 'playwright-core';
import { canInstallPackages, installPackages, isExecutable, run } from './debian.ts';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** A Chromium or Chrome that is installed; null when none is found. */
export function findChromium(): string | null {
  return [...PLACES, chromium.executablePath()].find(isExecutable) ?? null;
}

/**
 * Installs Chromium where it is missing: Debian's own as root, else Playwright's.
 * @throws Error that says what to do when neither worked
 */
export function ensureChromium(): string {
  const found = findChromium();
  if (found !== null) return found;
  if (canInstallPackages()) installPackages(['chromium']);
  else run('npx', ['playwright-core', 'install', 'chromium']);
  const installed = findChromium();
  if (installed === null)
    throw new Error('The browser tests need Chromium or Chrome. Install one and run the tests again.');
  return installed;
}
