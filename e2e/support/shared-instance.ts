import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { createRepository } from '../../test-support/git.ts';
import type { AtEnd } from '../../test-support/temporary-folder.ts';
import { callApi } from './api.ts';
import { notifyPagesOfFailure, openBrowser } from './browser.ts';
import { type Installation, install, type Running } from './callboard.ts';
import { processesOf } from './processes.ts';
import { retainUntilEnd } from './shared-instances.ts';

/** A Callboard, and a browser that is logged in to it. */
export interface Instance extends Installation, Pick<Running, 'origin'> {
  context: BrowserContext;
  page: Page;
  /** Console errors and exceptions of the pages. */
  errors: string[];
}

interface Shared extends Instance {
  /** The login of its browser. */
  loginId: string;
  /** Keeps the process of the pages between two tests; runs no script. */
  parked: Page;
  /** Ends all of it. */
  end(): Promise<void>;
}

interface LocationOptions {
  /** Prepares the installation before Callboard starts, or puts a script into every page. */
  prepare?: (installation: Installation, context: BrowserContext) => Promise<unknown>;
  window?: Parameters<typeof openBrowser>[0];
  /** Whether its sessions are emulated: for a test that is not about the CLI. */
  isEmulated?: boolean;
}

/** Lets commands of a project run without a sandbox, which costs each session on it a third more; tests of the sandbox are elsewhere. */
export async function leaveSandbox(origin: string, projectId: string): Promise<void> {
  const changed = await callApi(origin, 'PATCH', `/api/projects/${projectId}`, { settings: { sandbox: false } });
  if (!changed.ok) throw new Error(`the project was not changed: ${await changed.text()}`);
}

/** Starts a Callboard, whose commands run without a sandbox, and logs a browser in. */
export async function createInstance(atEnd: AtEnd = onTestFinished, options: LocationOptions = {}): Promise<Instance> {
  const { prepare = async () => undefined, window = {}, isEmulated = false } = options;
  const installation = await install({}, atEnd, isEmulated);
  const { page, errors, context } = await openBrowser(window, atEnd);
  await prepare(installation, context);
  const { origin, loginLink, stop } = await installation.start();
  atEnd(stop);
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor({ state: 'attached' });
  await leaveSandbox(origin, 'shop');
  return { ...installation, origin, page, context, errors };
}

/** What the tests of this worker share. */
let saved: Promise<Shared> | undefined;

/** Ends a Callboard that the next test shall not find. */
async function endShared(): Promise<void> {
  const before = saved;
  saved = undefined;
  await (await before)?.end();
}

async function begin(): Promise<Shared> {
  const ends: (() => void | Promise<void>)[] = [];
  const place = await createInstance((end) => void ends.unshift(end));
  ends.push(await retainUntilEnd(place));
  const { logins } = await (await callApi(place.origin, 'GET', '/api/logins')).json();
  const end = async () => {
    for (const one of ends) await one();
  };
  const parked = await place.context.newPage();
  await parked.goto(new URL('/favicon.svg', place.origin).href);
  const shared = { ...place, loginId: logins[0].loginId, parked, end };
  await clear(shared); // the project that it was started with
  return shared;
}

/** A shared Callboard with the board on a page of its own. Otherwise as `openSharedInstance`. */
export async function openSharedBoard(): Promise<Instance> {
  const place = await openSharedInstance();
  await place.page.goto(place.origin);
  await place.page.getByRole('region', { name: 'Backlog' }).waitFor({ state: 'attached' });
  return place;
}

/**
 * A Callboard with a logged-in, empty page, as if nobody had used it before: the tests of a worker share it, each with a
 * project and a repository of its own, called `shop`. What a test leaves is gone before the next one; after a failed test all
 * of it is. Loading a page takes half a second of CPU, so whoever wants another one than the board loads only that.
 * @param prepare changes the repository before it becomes a project
 */
export async function openSharedInstance(
  prepare: (repo: string) => Promise<void> = async () => undefined,
): Promise<Instance> {
  saved ??= begin();
  const place = await saved;
  const { origin, context, model, errors } = place;
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') return endShared(); // `onTestFailed` would come only after this
    try {
      await clear(place);
    } catch (error) {
      await endShared();
      throw error;
    }
  });
  notifyPagesOfFailure(context); // before the above: the last one is called first
  // Always another path: a git that a test has left still writes into its own.
  const repo = await createRepository(join(await mkdtemp(join(place.folder, 'repo-')), 'shop'));
  await prepare(repo);
  const added = await callApi(origin, 'POST', '/api/projects', { path: repo });
  if (!added.ok) throw new Error(`the project was not added: ${await added.text()}`);
  await leaveSandbox(origin, (await added.json()).project.id);
  model.reset();
  const before = model.requests.length;
  const ofThisTest = {
    ...model,
    get requests() {
      return model.requests.slice(before);
    },
  };
  errors.length = 0;
  return { ...place, repo, model: ofThisTest, page: await context.newPage() };
}

/** Removes everything that a test has made, and fails if it left a process running. */
async function clear({ origin, context, folder, loginId, parked }: Shared): Promise<void> {
  const send = async (method: string, path: string, data?: object) => {
    const response = await callApi(origin, method, path, data);
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : response.json();
  };
  await forget(parked, origin);
  for (const page of context.pages()) if (page !== parked) await page.close();
  const { stages } = await send('GET', '/api/board');
  for (const { id } of stages) await callApi(origin, 'POST', `/api/stages/${id}/stop`, {}); // most have no session
  for (const { id } of stages) await send('DELETE', `/api/stages/${id}`);
  for (const { id } of (await send('GET', '/api/projects')).projects) await send('DELETE', `/api/projects/${id}`);
  for (const login of (await send('GET', '/api/logins')).logins)
    if (login.loginId !== loginId) await send('DELETE', `/api/logins/${login.loginId}`);
  const left = (await processesOf(folder)).filter((line) => line.includes('--permission-prompt-tool'));
  if (left.length > 0) throw new Error(`left running: ${left.join('; ')}`);
}

/** Forgets what the pages keep in the browser, except their login. */
async function forget(page: Page, origin: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', {
    origin,
    storageTypes: 'local_storage,cache_storage,service_workers',
  });
  await session.detach();
}
