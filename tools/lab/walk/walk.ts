/**
 * `npm run walk`: counts the source files that an approval and a message pass, with the real CLI: files with a function that
 * ran in the orchestrator, the web server or the page (V8 coverage). An approval is measured on the board: from Claude Code's
 * request line to the open dialog, and from the click to the line in the FIFO. A message is measured on the page of its
 * stage, from the click to the line in the FIFO. Functions that also run at rest, like timers, do not count. `--files`
 * prints the names. `lines` are those of the functions that ran in the servers, without comments and types.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { z } from 'zod';
import { closeBrowsers, openBrowser } from '../../../e2e/support/browser.ts';
import { install } from '../../../e2e/support/callboard.ts';
import { partPid } from '../../../e2e/support/processes.ts';
import { apiOf } from '../../../e2e/support/scene.ts';
import { root } from '../../../scripts/bundles.ts';
import { clock } from '../bench/turn/clock.ts';
import { type Ran, ranIn } from './ran.ts';
import { type Source, sourcesOf } from './sources.ts';

const GOALS = { approval: 45, message: 25 };
/** By then the page and the servers have finished the previous step. */
const SETTLED_MS = 2_000;
/** Longer than the longest interval of the background timers. */
const REST_MS = 6_000;
const TAKEN_MS = 200;
const RECORDER = join(import.meta.dirname, 'record-coverage.ts');

const Taken = z.object({
  at: z.number(),
  step: z.string(),
  of: z.string(),
  ran: z.array(z.object({ url: z.string(), functions: z.array(z.tuple([z.int(), z.int()])) })),
});
type Taken = z.infer<typeof Taken>;

const { values } = parseArgs({ options: { files: { type: 'boolean', default: false } } });
const ends: (() => void | Promise<void>)[] = [];
const atEnd = (end: () => void | Promise<void>) => void ends.unshift(end);

try {
  const { approval, message } = await walk();
  if (values.files)
    console.log(['', 'An approval:', ...listed(approval), '', 'A message:', ...listed(message), ''].join('\n'));
  console.table([
    { walk: 'an approval', ...countFiles(approval, GOALS.approval) },
    { walk: 'a message', ...countFiles(message, GOALS.message) },
  ]);
} finally {
  for (const end of ends) await end();
}

async function walk(): Promise<Record<'approval' | 'message', Source[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-walk-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const board = join(folder, 'board');
  await buildBoard(board);
  const recorded = join(folder, 'ran');
  const callboard = await install({ NODE_OPTIONS: `--import=${RECORDER}`, WALK_COVERAGE: recorded }, atEnd);
  const { loginLink, origin, stop, supervisor } = await callboard.start();
  atEnd(stop);
  atEnd(closeBrowsers);
  const { page } = await openBrowser({}, atEnd);
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor();
  await serveBoard(page, board);

  const stage = await addStage(origin);
  await page.goto(`${origin}/stages/${stage}`);
  const servers = await Promise.all(
    (['orchestrator', 'web server'] as const).map((part) => partPid(supervisor.pid ?? -1, part)),
  );
  const take = await startTaking(page, servers);
  await apiOf(origin).start(stage);
  const sent = await sendMessage(page, take);
  await page.goto(origin);
  await page.getByText('Walk').first().waitFor();
  const approved = await approve(page, take, () => callboard.model.release('ask'));

  const taken = await readTaken(recorded);
  const idleNow = new Set(namesOf([...sent.pageAtRest, ...between(taken, sent.restsAt, sent.sentAt)]));
  const files = (ran: Ran[]) => sourcesOf(without(ran, idleNow), (url) => scriptAndMap(board, url));
  return {
    approval: await files([
      ...between(taken, askedAt(taken, approved.releasedAt), approved.shownAt),
      ...approved.pageShown,
      ...between(taken, approved.clickedAt, writtenAt(taken, approved.clickedAt, 'approve_tool')),
      ...approved.pageClicked,
    ]),
    message: await files([
      ...between(taken, sent.sentAt, writtenAt(taken, sent.sentAt, 'send_message')),
      ...sent.pageSent,
    ]),
  };
}

/** Builds the page with source maps. */
async function buildBoard(board: string): Promise<void> {
  await build({
    root: join(root, 'tools', 'web-server'),
    logLevel: 'warn',
    build: { outDir: board, emptyOutDir: true, sourcemap: 'hidden', chunkSizeWarningLimit: 1_000 },
  });
}

/** Gives the page the files with source maps: their names differ from those that the web server has. */
async function serveBoard(page: Page, board: string): Promise<void> {
  await page.route('**/assets/**', (route) => {
    const path = join(board, 'assets', basename(new URL(route.request().url()).pathname));
    return existsSync(path) ? route.fulfill({ path }) : route.continue();
  });
  const isPage = ({ pathname }: URL) => pathname === '/' || pathname.startsWith('/stages/');
  await page.route(isPage, async (route) =>
    route.fulfill({ response: await route.fetch(), path: join(board, 'index.html') }),
  );
}

/** Adds a stage whose model asks for approval once it gets a message. */
async function addStage(origin: string) {
  const api = apiOf(origin);
  await api.patch('/api/projects/shop', { settings: { sandbox: false } });
  return api.stage('Walk', [
    { text: 'Ready.' },
    { gate: 'ask', tools: [{ name: 'Bash', input: { command: 'touch made.txt', description: 'Make a file' } }] },
    { text: 'Done.' },
  ]);
}

/** Waits until nothing happens, and sends a message. */
async function sendMessage(page: Page, take: Take) {
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  await page.getByText('Ready.').waitFor();
  await message.fill('Go on');
  await sleep(SETTLED_MS);

  await take();
  const restsAt = clock();
  await sleep(REST_MS);
  const pageAtRest = await take();
  const sentAt = clock();
  const sending = page.waitForRequest((request) => request.url().endsWith('/message'));
  await message.press('Enter');
  await sending;
  return { restsAt, pageAtRest, sentAt, pageSent: await take() };
}

/** Has the model ask, and allows what it asks for. */
async function approve(page: Page, take: Take, ask: () => void) {
  await sleep(SETTLED_MS);
  await take();
  const releasedAt = clock();
  ask();
  const allow = page.getByRole('button', { name: 'Allow', exact: true });
  await allow.waitFor();
  const shownAt = clock();
  const pageShown = await take();
  await sleep(SETTLED_MS); // until a click counts
  await take();
  const clickedAt = clock();
  const answering = page.waitForRequest((request) => request.url().endsWith('/approve'));
  await allow.click();
  await answering;
  const pageClicked = await take();
  await allow.waitFor({ state: 'hidden' });
  await sleep(SETTLED_MS);
  return { releasedAt, shownAt, pageShown, clickedAt, pageClicked };
}

function scriptAndMap(board: string, url: string) {
  const path = url.startsWith('file:') ? fileURLToPath(url) : join(board, 'assets', basename(new URL(url).pathname));
  return { path, map: `${path}.map` };
}

/** Takes the functions that ran since the last call: returns those of the page; the servers record theirs. */
type Take = () => Promise<Ran[]>;

async function startTaking(page: Page, servers: readonly (number | null)[]): Promise<Take> {
  const session = await page.context().newCDPSession(page);
  await session.send('Profiler.enable');
  await session.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return async () => {
    for (const pid of servers) process.kill(pid ?? Number.NaN, 'SIGUSR2');
    const { result } = await session.send('Profiler.takePreciseCoverage');
    await sleep(TAKEN_MS);
    return ranIn(result.filter(({ url }) => url.includes('/assets/')));
  };
}

/** Returns unique names of the functions. */
function namesOf(ran: readonly Ran[]): string[] {
  return ran.flatMap(({ url, functions }) => functions.map(([start]) => `${url}:${start}`));
}

function without(ran: readonly Ran[], names: ReadonlySet<string>): Ran[] {
  return ran.map(({ url, functions }) => ({
    url,
    functions: functions.filter(([start]) => !names.has(`${url}:${start}`)),
  }));
}

/** Returns when the request line was read. */
function askedAt(taken: readonly Taken[], from: number): number {
  const reported = taken.findIndex(
    ({ at, step, of }) => at > from && step === 'frame sent' && of === 'approval_requested',
  );
  return found(taken.slice(0, reported).findLast(({ step }) => step === 'lines read'));
}

/** Returns when the line of a command was in the FIFO. */
function writtenAt(taken: readonly Taken[], from: number, command: string): number {
  const sent = taken.findIndex(({ at, step, of }) => at > from && step === 'command dispatched' && of === command);
  return found(taken.slice(sent).find(({ step }) => step === 'line written'));
}

function found(one: Taken | undefined): number {
  if (one === undefined) throw new Error('a mark is missing: npm run walk follows those of runtime/src/marks.ts');
  return one.at;
}

function between(taken: readonly Taken[], from: number, to: number): Ran[] {
  return taken.filter(({ at }) => at > from && at <= to).flatMap(({ ran }) => ran);
}

async function readTaken(recorded: string): Promise<Taken[]> {
  const texts = await Promise.all(
    ['orchestrator', 'web-server'].map((server) => readFile(`${recorded}.${server}`, 'utf8')),
  );
  const taken = texts.flatMap((text) => text.trim().split('\n')).map((line) => Taken.parse(JSON.parse(line)));
  return taken.toSorted((a, b) => a.at - b.at);
}

function listed(files: readonly Source[]): string[] {
  return files.map(({ path, lines }) => `${String(lines).padStart(4)} ${path}`);
}

/** The page counts apart: what it draws is hardly a path, and its bundle has few lines. */
function countFiles(files: readonly Source[], goal: number): Record<string, number> {
  const parts = Map.groupBy(files, ({ path }) =>
    path.includes('/client/') ? 'page' : (/^tools\/([\w-]+)/.exec(path)?.[1] ?? path),
  );
  const servers = files.filter(({ path }) => !path.includes('/client/'));
  const { page = 0, ...counts } = Object.fromEntries([...parts].map(([part, of]) => [part, of.length]));
  const lines = servers.reduce((sum, file) => sum + file.lines, 0);
  return { files: servers.length, goal, ...counts, page, lines };
}
