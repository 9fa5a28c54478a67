import type { BrowserContext } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { openBrowser } from './browser.ts';
import type { Installation } from './callboard.ts';
import { apiOf } from './scene.ts';
import { makePlace, openSharedBoard, openSharedPlace, type Place } from './shared-place.ts';

/** Callboard with a logged-in page, and its API. */
export interface Desk extends Place {
  api: ReturnType<typeof apiOf>;
}

/** The Callboard that tests share, with a page, a project and a repository for this test alone. */
export async function openDesk(): Promise<Desk> {
  const place = await openSharedBoard();
  return { ...place, api: apiOf(place.origin) };
}

/** As `openDesk`, with an empty page: for a test that begins on another page than the board, or prepares the board before it is loaded. */
export async function openEmptyDesk(): Promise<Desk> {
  const place = await openSharedPlace();
  return { ...place, api: apiOf(place.origin) };
}

/**
 * A Callboard for this test alone: it needs a window or a home of its own, sets the clock, or looks at what earlier tests
 * leave behind (the log of decisions, the trash).
 * @param before prepares the installation before Callboard starts, or puts a script into every page
 * @param isEmulated whether its sessions are emulated: for a test that is not about the CLI
 */
export async function openOwnDesk(
  before?: (installation: Installation, context: BrowserContext) => Promise<unknown>,
  window: Parameters<typeof openBrowser>[0] = {},
  isEmulated = false,
): Promise<Desk> {
  const place = await makePlace(onTestFinished, { ...(before && { prepare: before }), window, isEmulated });
  return { ...place, api: apiOf(place.origin) };
}
