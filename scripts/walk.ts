/**
 * `npm run walk`: how many rooms of the house an approval and a message pass. Counts the source files with a function that
 * ran in the orchestrator, the web server and the page (V8's coverage), on the real CLI. An approval is followed on the
 * board: from the line of Claude Code that asks until the dialog is there, and from the click to the line in the FIFO. A
 * message is followed on the page of its stage, from the click to the line in the FIFO. Functions that also run while
 * nothing happens, such as timers, do not count. `--files` prints the names.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { z } from 'zod';
import { clock } from '../e2e/bench/turn/clock.ts';
import { closeBrowsers, openBrowser } from '../e2e/support/browser.ts';
import { install } from '../e2e/support/callboard.ts';
import { partPid } from '../e2e/support/processes.ts';
import { apiOf } from '../e2e/support/scene.ts';
import { type Ran, ranIn } from '../e2e/walk/ran.ts';
import { sourcesOf } from '../e2e/walk/sources.ts';
import { root } from './bundles.ts';

const GOALS = { approval: 45, message: 25 };
/** By then the page and the servers have done what the step before asked of them. */
const SETTLED_MS = 2_000;
/** Longer than the longest interval of what runs all the time. */
const REST_MS = 6_000;
const TAKEN_MS = 200;
const RECORDER = join(root, 'e2e', 'walk', 'record-coverage.ts');

const Taken = z.object({
  at: z.number(),
  step: z.string(),
  of: z.string(),
  ran: z.array(z.object({ url: z.string(), starts: z.array(z.int()) })),
});
type Taken = z.infer<typeof Taken>;

const { values } = parseArgs({ options: { files: { type: 'boolean', default: false } } });
const ends: (() => void | Promise<void>)[] = [];
const atEnd = (end: () => void | Promise<void>) => void ends.unshift(end);

try {
  const { approval, message } = await walk();
  if (values.files) console.log(['', 'An approval:', ...approval, '', 'A message:', ...message, ''].join('\n'));
  console.table([
    { walk: 'an approval', files: approval.length, goal: GOALS.approval, ...countByPart(approval) },
    { walk: 'a message', files: message.length, goal: GOALS.message, ...countByPart(message) },
  ]);
} finally {
  for (const end of ends) await end();
}

async function walk(): Promise<Record<'approval' | 'message', string[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-walk-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const board = join(folder, 'board');
  // The same files as those that are served, with their source maps.
  await build({
    root: join(root, 'tools', 'web-server'),
    logLevel: 'warn',
    build: { outDir: board, emptyOutDir: true, sourcemap: 'hidden', chunkSizeWarningLimit: 1_000 },
  });
  const recorded = join(folder, 'ran');
  const callboard = await install({ NODE_OPTIONS: `--import=${RECORDER}`, WALK_COVERAGE: recorded }, atEnd);
  const { loginLink, origin, stop, supervisor } = await callboard.start();
  atEnd(stop);
  atEnd(closeBrowsers);
  const { page } = await openBrowser({}, atEnd);
  await page.goto(loginLink);
  await page.getByRole('region', { name: 'Backlog' }).waitFor();

  const api = apiOf(origin);
  await api.patch('/api/projects/shop', { settings: { sandbox: false } });
  const stage = await api.stage('Walk', [
    { text: 'Ready.' },
    { gate: 'ask', tools: [{ name: 'Bash', input: { command: 'touch made.txt', description: 'Make a file' } }] },
    { text: 'Done.' },
  ]);
  await page.goto(`${origin}/stages/${stage}`);
  const take = await startTaking(page, [
    await partPid(supervisor.pid ?? -1, 'orchestrator'),
    await partPid(supervisor.pid ?? -1, 'web server'),
  ]);
  await api.start(stage);
  const message = page.getByRole('textbox', { name: 'Message' });
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
  const pageSent = await take();

  await page.goto(origin);
  await page.getByText('Walk').first().waitFor();
  await sleep(SETTLED_MS);
  await take();
  const releasedAt = clock();
  callboard.model.release('ask');
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

  const taken = await readTaken(recorded);
  const atRest = new Set(namesOf([...pageAtRest, ...between(taken, restsAt, sentAt)]));
  const files = (ran: Ran[]) => sourcesOf(without(ran, atRest), find);
  return {
    approval: await files([
      ...between(taken, askedAt(taken, releasedAt), shownAt),
      ...pageShown,
      ...between(taken, clickedAt, writtenAt(taken, clickedAt, 'approve_tool')),
      ...pageClicked,
    ]),
    message: await files([...between(taken, sentAt, writtenAt(taken, sentAt, 'send_message')), ...pageSent]),
  };

  function find(url: string) {
    const path = url.startsWith('file:') ? fileURLToPath(url) : join(board, 'assets', basename(new URL(url).pathname));
    return { path, map: `${path}.map` };
  }
}

/** What is called takes what has run since it was called last: returns it of the page, has the servers record it. */
async function startTaking(page: Page, servers: readonly (number | null)[]): Promise<() => Promise<Ran[]>> {
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

/** Functions by names of their own. */
function namesOf(ran: readonly Ran[]): string[] {
  return ran.flatMap(({ url, starts }) => starts.map((start) => `${url}:${start}`));
}

function without(ran: readonly Ran[], names: ReadonlySet<string>): Ran[] {
  return ran.map(({ url, starts }) => ({ url, starts: starts.filter((start) => !names.has(`${url}:${start}`)) }));
}

/** When the line had been read that asks. */
function askedAt(taken: readonly Taken[], from: number): number {
  const told = taken.findIndex(({ at, step, of }) => at > from && step === 'frame sent' && of === 'approval_requested');
  return found(taken.slice(0, told).findLast(({ step }) => step === 'lines read'));
}

/** When the line of a command was in the FIFO. */
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

function countByPart(files: readonly string[]): Record<string, number> {
  const parts = Map.groupBy(files, (file) => /^tools\/([\w-]+)/.exec(file)?.[1] ?? file);
  return Object.fromEntries([...parts].map(([part, of]) => [part, of.length]));
}
