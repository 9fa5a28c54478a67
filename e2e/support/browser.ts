import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { findChromium } from '../../scripts/chromium.ts';
import type { AtEnd } from './callboard.ts';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface Browser {
  context: BrowserContext;
  page: Page;
  /** What the pages wrote to the console as an error, or threw. */
  errors: string[];
}

/** A browser with a profile of its own, closed when the test is over. */
export async function openBrowser(
  options: { width?: number; height?: number; hasTouch?: boolean; hasNotifications?: boolean } = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Browser> {
  const executablePath = findChromium(options.hasNotifications);
  if (executablePath === null) throw new Error('no Chromium is installed; npm test installs it');
  const profile = await mkdtemp(join(tmpdir(), 'callboard-browser-'));
  const viewport = { width: options.width ?? 1280, height: options.height ?? 800 };
  const context = await chromium.launchPersistentContext(profile, {
    ...{ executablePath, args: ARGS, viewport, hasTouch: options.hasTouch ?? false },
    timeout: 120_000,
  });
  atEnd(async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 10 });
  });
  context.setDefaultTimeout(60_000);
  const errors: string[] = [];
  const page = context.pages()[0] ?? (await context.newPage());
  context.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  context.on('weberror', (error) => errors.push(String(error.error())));
  return { context, page, errors };
}
