import { chromium } from 'playwright-core';
import { canInstallPackages, installPackages, isExecutable, run } from './debian.ts';

/** Chromium without a window: the same engine, at 60 % of the time to start and two thirds of that to draw. */
const SHELL = '/usr/bin/chromium-headless-shell';
const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/**
 * A Chromium or Chrome that is installed, if possible the one without a window; null when none is found.
 * @param needsWhole for what the one without a window lacks, such as notifications
 */
export function findChromium(needsWhole = false): string | null {
  return [...(needsWhole ? [] : [SHELL]), ...PLACES, chromium.executablePath()].find(isExecutable) ?? null;
}

/**
 * Installs Chromium where it is missing: Debian's own as root, with and without a window, else Playwright's.
 * @throws Error that says what to do when neither worked
 */
export function ensureChromium(): void {
  const isDebian = canInstallPackages();
  if (isDebian && (findChromium(true) === null || !isExecutable(SHELL)))
    installPackages(['chromium', 'chromium-headless-shell']);
  if (findChromium(true) === null) run('npx', ['playwright-core', 'install', 'chromium']);
  if (findChromium(true) === null)
    throw new Error('The browser tests need Chromium or Chrome. Install one and run the tests again.');
}
