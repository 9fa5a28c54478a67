import type { BrowserContext, Page, Request } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { ALL } from '../test-support/variants.ts';
import { openBrowser } from './support/browser.ts';
import { install } from './support/callboard.ts';
import { apiOf } from './support/scene.ts';
import { turnTo } from './support/turn-to.ts';

/** More than the six connections that a browser opens to one origin; `npm run test:all` opens ten tabs. */
const TABS = ALL ? 10 : 7;
const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });

/** A logged-in browser with that many tabs. The sessions are emulated, because this test is about the number of tabs. */
async function openTabs() {
  const { start } = await install({}, undefined, true);
  const { loginLink, origin, stop } = await start();
  onTestFinished(stop);
  const { page, context, errors } = await openBrowser();
  context.setDefaultTimeout(60_000); // they all work at once, on a machine that may be busy already
  const streams = openStreams(context);
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor();
  const others = await Promise.all(Array.from({ length: TABS - 1 }, () => context.newPage()));
  return { tabs: [page, ...others], streams, errors, origin, api: apiOf(origin) };
}

/** The pending requests for an event stream. */
function openStreams(context: BrowserContext): Set<Request> {
  const streams = new Set<Request>();
  context.on('request', (request) => {
    if (new URL(request.url()).pathname === '/api/events') streams.add(request);
  });
  const end = (request: Request) => void streams.delete(request);
  context.on('requestfinished', end).on('requestfailed', end);
  // A closed tab's requests end with it, without an event.
  const endAllOf = (tab: Page) => {
    for (const request of streams) if (request.frame().page() === tab) streams.delete(request);
  };
  for (const tab of context.pages()) tab.on('close', endAllOf);
  context.on('page', (tab) => tab.on('close', endAllOf));
  return streams;
}

const inAll = (tabs: readonly Page[], check: (tab: Page) => Promise<unknown>) => Promise.all(tabs.map(check));
const dialog = (tab: Page, title: string) => tab.getByRole('dialog', { name: `${title}: Run this command?` });

it('serves more tabs of one browser than it has connections over one event stream, on stages and on the board, even after its tab is closed', async () => {
  const { tabs, streams, errors, origin, api } = await openTabs();
  const [asking, reading, ...onBoard] = tabs;
  if (asking === undefined || reading === undefined) throw new Error('unreachable');
  const asked = await api.stage('Stage 0', [{ text: 'I ask.', ...bash('touch a') }, { text: 'Finished 0.' }]);
  const read = await api.stage('Stage 1', [{ text: 'Finished 1.' }]);
  await Promise.all([
    turnTo(asking, `/stages/${asked}`),
    reading.goto(`${origin}/stages/${read}`),
    ...onBoard.map((tab) => tab.goto(origin)),
  ]);
  await inAll(onBoard, (tab) => tab.getByRole('region', { name: 'Ready' }).getByText('Stage 1').waitFor());
  await expect.poll(() => streams.size).toBe(1);
  await Promise.all([asked, read].map((stageId) => api.start(stageId)));
  await reading.getByText('Finished 1.').first().waitFor();
  await inAll(tabs.slice(1), (tab) => dialog(tab, 'Stage 0').waitFor());
  const form = asking.getByRole('form', { name: 'Stage 0: Run this command?' });
  await form.getByRole('button', { name: 'Allow', exact: true }).click();
  await asking.getByText('Finished 0.').first().waitFor();
  await inAll(tabs.slice(1), (tab) => dialog(tab, 'Stage 0').waitFor({ state: 'hidden' }));
  await inAll(onBoard, (tab) => tab.getByRole('region', { name: 'Review' }).getByText('Stage 0').waitFor());
  await expect.poll(() => streams.size).toBe(1);

  // The tab that holds the stream closes while something happens; no tab misses anything.
  const stageId = await api.stage('Search index', [bash('touch b'), bash('touch c'), { text: 'All finished.' }]);
  const [stream] = streams;
  const leader = stream?.frame().page();
  const left = tabs.filter((tab) => tab !== leader);
  const [caller] = left;
  if (leader === undefined || caller === undefined) throw new Error('no tab holds the stream');
  const starting = api.start(stageId);
  await leader.close();
  await starting;
  await inAll(left, (tab) => dialog(tab, 'Search index').waitFor());
  await caller.getByRole('button', { name: 'Allow', exact: true }).click();
  await inAll(left, (tab) => dialog(tab, 'Search index').getByText('touch c').waitFor());
  await caller.getByRole('button', { name: 'Allow', exact: true }).click();
  await inAll(left, (tab) => dialog(tab, 'Search index').waitFor({ state: 'hidden' }));
  const boards = onBoard.filter((tab) => tab !== leader);
  await inAll(boards, (tab) => tab.getByRole('region', { name: 'Review' }).getByText('Search index').waitFor());
  await expect.poll(() => streams.size).toBe(1);
  // Whose text a stream carries may be said to a stream whose tab has just left its page.
  expect(errors.filter((error) => !/404 .*\/events\/<id>\/watch/.test(error))).toEqual([]);
});
