import {
  type BrowserContext,
  type Browser as Chromium,
  type ConsoleMessage,
  chromium,
  type Page,
} from 'playwright-core';
import { onTestFinished } from 'vitest';
import { findChromium } from '../../scripts/chromium.ts';
import type { AtEnd } from '../../test-support/temporary-folder.ts';
import { WAIT_MS } from '../../test-support/until.ts';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // The pages of a context share a process: the start of one for each page would cost a third of loading it.
  '--process-per-site',
  // A page that is loaded anew allocates much at once: room for it spares collecting it bit by bit.
  '--js-flags=--min-semi-space-size=16',
];

/** Chromium is first read from the disk and set up. */
const LAUNCH_MS = 60_000;

export interface Browser {
  context: BrowserContext;
  page: Page;
  /** Console errors and exceptions of the pages. */
  errors: string[];
}

/** Running browsers, by their program and flags: a new one takes a second of CPU, a new context next to nothing. */
const running = new Map<string, Promise<Chromium>>();

/** Closes every browser that was opened. */
export async function closeBrowsers(): Promise<void> {
  const all = [...running.values()];
  running.clear();
  await Promise.all(all.map(async (browser) => (await browser).close()));
}

/** Takes certificates that no authority has signed. A context that ignores their errors takes no service worker from there. */
const TRUSTING = '--ignore-certificate-errors';

async function runningBrowser(executablePath: string, trustsAll: boolean): Promise<Chromium> {
  const key = trustsAll ? `${executablePath} ${TRUSTING}` : executablePath;
  const before = await running.get(key)?.catch(() => undefined);
  if (before?.isConnected()) return before;
  const args = trustsAll ? [...ARGS, TRUSTING] : ARGS;
  const browser = chromium.launch({ executablePath, args, timeout: LAUNCH_MS });
  running.set(key, browser);
  return browser;
}

/** The chaos with several machines makes network interfaces beside other tests, which ends requests of Chromium. Pages repeat them. */
const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED';

/** The text of a console error, and what was loaded, without its ids: tests look for the status in it. */
function withLocation(message: ConsoleMessage): string {
  const { url } = message.location();
  return url === '' ? message.text() : `${message.text()} (${new URL(url).pathname.replace(/[0-9a-f-]{36}/g, '<id>')})`;
}

/** Adds to the error of a test that fails what its pages show: its first try leaves nothing else. */
export function notifyPagesOfFailure(context: BrowserContext): void {
  onTestFinished(async ({ task }) => {
    const error = task.result?.errors?.at(-1);
    if (task.result?.state !== 'fail' || error === undefined) return;
    const shown = await Promise.all(context.pages().map((page) => textOf(page).catch(String)));
    error.message += `\nIts pages show:\n${shown.join('\n')}`;
  });
}

/** The path of a page, and the text of its open dialogs; without any, the beginning of all its text. */
async function textOf(page: Page): Promise<string> {
  const open = await page.getByRole('dialog').allInnerTexts();
  const all = open.length > 0 ? open : await page.locator('body').allInnerTexts();
  return `${new URL(page.url()).pathname}: ${all.join(' | ').replaceAll(/\s+/g, ' ').slice(0, 600)}`;
}

/** Opens a browser as if on a separate machine: it shares no cookie, storage or cache with another. Closed when the test is over. */
export async function openBrowser(
  options: {
    width?: number;
    height?: number;
    hasTouch?: boolean;
    hasNotifications?: boolean;
    trustsAll?: boolean;
    hasWorker?: boolean;
  } = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Browser> {
  const executablePath = findChromium(options.hasNotifications);
  if (executablePath === null) throw new Error('no Chromium is installed; npm test installs it');
  const viewport = { width: options.width ?? 1280, height: options.height ?? 800 };
  const browser = await runningBrowser(executablePath, options.trustsAll ?? false);
  const context = await browser.newContext({
    viewport,
    hasTouch: options.hasTouch ?? false,
    // A worker costs each page a start, and what a test does to the network of a page passes it by.
    serviceWorkers: options.hasWorker === true ? 'allow' : 'block',
  });
  atEnd(() => context.close());
  if (atEnd === onTestFinished) notifyPagesOfFailure(context);
  context.setDefaultTimeout(WAIT_MS);
  const errors: string[] = [];
  const page = await context.newPage();
  context.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes(NETWORK_CHANGED)) errors.push(withLocation(message));
  });
  context.on('weberror', (error) => errors.push(String(error.error())));
  return { context, page, errors };
}
