import { chromium } from 'playwright-core';
import { canInstallPackages, installPackages, isExecutable, run } from './debian.ts';

/** Headless Chromium: the same engine, with 60 % of the start time and two thirds of the rendering time. */
const SHELL = '/usr/bin/chromium-headless-shell';
const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/**
 * Finds an installed Chromium or Chrome, preferably the headless one; null if there is none.
 * @param needsWhole for features that headless Chromium lacks, for example notifications
 */
export function findChromium(needsWhole = false): string | null {
  return [...(needsWhole ? [] : [SHELL]), ...PLACES, chromium.executablePath()].find(isExecutable) ?? null;
}

/**
 * Installs Chromium if it is missing: Debian's packages as root, both variants, else Playwright's build.
 * @throws Error that says what to do if both fail
 */
export function ensureChromium(): void {
  const isDebian = canInstallPackages();
  if (isDebian && (findChromium(true) === null || !isExecutable(SHELL)))
    installPackages(['chromium', 'chromium-headless-shell']);
  if (findChromium(true) === null) run('npx', ['playwright-core', 'install', 'chromium']);
  if (findChromium(true) === null)
    throw new Error('The browser tests need Chromium or Chrome. Install one and run the tests again.');
}
