import type { BrowserContext } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { openBrowser } from './browser.ts';
import type { Installation } from './callboard.ts';
import { apiOf } from './scene.ts';
import { createInstance, type Instance, openSharedBoard, openSharedInstance } from './shared-instance.ts';

/** Callboard with a logged-in page, and its API. */
export interface TestBoard extends Instance {
  api: ReturnType<typeof apiOf>;
}

/** The Callboard that tests share, with a page, a project and a repository for this test alone. */
export async function openTestBoard(): Promise<TestBoard> {
  const place = await openSharedBoard();
  return { ...place, api: apiOf(place.origin) };
}

/** As `openTestBoard`, with an empty page: for a test that begins on another page than the board, or prepares the board before it is loaded. */
export async function openEmptyBoard(): Promise<TestBoard> {
  const place = await openSharedInstance();
  return { ...place, api: apiOf(place.origin) };
}

/**
 * A Callboard for this test alone: it needs a window or a home of its own, sets the clock, or looks at what earlier tests
 * leave behind (the log of decisions, the trash).
 * @param before prepares the installation before Callboard starts, or puts a script into every page
 * @param isEmulated whether its sessions are emulated: for a test that is not about the CLI
 */
export async function openOwnBoard(
  before?: (installation: Installation, context: BrowserContext) => Promise<unknown>,
  window: Parameters<typeof openBrowser>[0] = {},
  isEmulated = false,
): Promise<TestBoard> {
  const place = await createInstance(onTestFinished, { ...(before && { prepare: before }), window, isEmulated });
  return { ...place, api: apiOf(place.origin) };
}
