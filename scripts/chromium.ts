import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { chromium } from 'playwright-core';

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
  const isDebianRoot = process.getuid?.() === 0 && isExecutable('/usr/bin/apt-get');
  if (isDebianRoot) {
    run('apt-get', ['update']);
    run('apt-get', ['install', '-y', 'chromium']);
  } else {
    run('npx', ['playwright-core', 'install', 'chromium']);
  }
  const installed = findChromium();
  if (installed === null)
    throw new Error('The browser tests need Chromium or Chrome. Install one and run the tests again.');
  return installed;
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
