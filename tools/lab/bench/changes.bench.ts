import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { it, onTestFinished } from 'vitest';
import { openBrowser } from '../../../e2e/support/browser.ts';
import { install } from '../../../e2e/support/callboard.ts';
import { partPid } from '../../../e2e/support/processes.ts';
import { apiOf } from '../../../e2e/support/scene.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { until } from '../../../test-support/until.ts';
import { recordFrames } from './frames.ts';
import { RECORDER, readStretches } from './loop/read-stretches.ts';
import { percentile } from './measure.ts';
import { type Figure, report } from './results.ts';

/** A person feels a task of more than 50 ms; another stage must not wait for it either. */
const LIMIT_MS = 50;
const SCROLLS = 40;
/** Git reads 300 MB, and other programs may run beside it. */
const SLOW = { withinMs: 120_000 };

/** The files of each stage, below its worktree. */
const SCENES: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  'one file': (folder) => writeFiles(folder, 1), // what the page takes without changes to speak of
  '1,000 files': (folder) => writeFiles(folder, 1_000),
  '8,000 files': (folder) => writeFiles(folder, 8_000),
  'odd files': writeOddFiles,
};

it('measures the changes of 1,000 and 8,000 new files, and of files that are odd', { timeout: 900_000 }, async () => {
  const recorded = await temporaryFolder();
  const stretches = join(recorded, 'stretches');
  const { start } = await install({
    NODE_OPTIONS: `--import=${RECORDER}`,
    BENCH_STRETCHES: stretches,
    ...(process.env.BENCH_PROFILES !== undefined && { BENCH_PROFILES: process.env.BENCH_PROFILES }),
  });
  const { loginLink, origin, stop, supervisor } = await start();
  onTestFinished(stop);
  const api = apiOf(origin);
  const { page } = await openBrowser({ width: 1440, height: 900 });
  page.setDefaultTimeout(SLOW.withinMs);
  await page.goto(loginLink);
  const other = await createStage(api, 'Another', (folder) => writeFile(join(folder, 'a.txt'), 'a\n'));
  const stages = new Map<string, string>();
  for (const [what, change] of Object.entries(SCENES)) stages.set(what, await createStage(api, what, change));
  const { pid = -1 } = supervisor;
  const servers = {
    orchestrator: (await partPid(pid, 'orchestrator')) ?? -1,
    'web-server': (await partPid(pid, 'web server')) ?? -1,
  };
  let number = 0;
  /** The longest time for which each server blocked its event loop since the last call, without what it waited for a core. */
  async function blockedMs(): Promise<Record<string, number>> {
    number += 1;
    for (const id of Object.values(servers)) process.kill(id, 'SIGUSR2');
    const found: Record<string, number> = {};
    for (const name of Object.keys(servers)) {
      const all = await readStretches(`${stretches}.${name}.${number}`);
      found[name] = Math.max(0, ...all.map(({ heldMs }) => heldMs));
    }
    return found;
  }

  const figures: Figure[] = [];
  /** Records the page and both servers while something is done, and the answers of another stage meanwhile. */
  async function measure(what: string, act: () => Promise<void>): Promise<void> {
    await blockedMs();
    const answers = answersOf(api, other);
    const { longestTaskMs } = await recordFrames(what, page, act);
    const ms = await answers.stop();
    const blocked = await blockedMs();
    const elements = await page.locator('*').count();
    figures.push(
      { name: `${what}: longest task of the page`, value: longestTaskMs, unit: 'ms', atMost: LIMIT_MS },
      { name: `${what}: elements`, value: elements, unit: 'elements', atMost: 4_000 },
      ...Object.entries(blocked).map(([name, value]) => ({
        name: `${what}: ${name} blocked`,
        value,
        unit: 'ms',
        atMost: LIMIT_MS,
      })),
      { name: `${what}: answer of another stage, p50`, value: percentile(ms, 0.5), unit: 'ms' },
      { name: `${what}: answer of another stage, p95`, value: percentile(ms, 0.95), unit: 'ms' },
      { name: `${what}: answer of another stage, longest`, value: Math.max(...ms), unit: 'ms' },
    );
  }

  await page.goto(`${origin}/stages/${other}`);
  await page.getByText('Ready.').waitFor();
  await measure('nothing', () => page.waitForTimeout(2_000));
  for (const [what, stageId] of stages) {
    const url = `${origin}/stages/${stageId}`;
    const list = page.getByRole('region', { name: 'Changed files' });
    const shown = () => list.getByRole('heading', { level: 2 }).first().waitFor();
    await page.goto('about:blank');
    await measure(`${what}, page loaded`, async () => {
      await page.goto(`${url}?tab=changes`);
      await shown();
      await settle(page);
    });
    await page.getByRole('link', { name: 'Transcript' }).click();
    await page.goto(url);
    await page.getByText('Ready.').waitFor();
    await measure(`${what}, Changes pressed`, async () => {
      await page.getByRole('link', { name: /^Changes/ }).click();
      await shown();
      await settle(page);
    });
    await measure(`${what}, list scrolled`, async () => {
      await list.hover();
      await turnWheel(page, 600);
      await settle(page);
    });
    if (what === 'one file') continue;
    const tree = page.getByRole('navigation', { name: 'Files' });
    await measure(`${what}, tree scrolled`, async () => {
      await tree.hover();
      await turnWheel(page, 600);
      await settle(page);
    });
    await list.focus();
    await measure(`${what}, twenty files on by keys`, async () => {
      for (let n = 0; n < 20; n += 1) {
        await page.keyboard.press(']');
        await page.waitForTimeout(30);
      }
      await settle(page);
    });
    await measure(`${what}, all opened`, async () => {
      // All of them, or those that were not open.
      const toggle = page.getByRole('button', { name: /^(Collapse|Expand) all$/ });
      if ((await toggle.textContent()) === 'Collapse all') await toggle.click();
      await page.getByRole('button', { name: 'Expand all' }).click();
      await settle(page);
      for (const key of ['Home', 'End', 'Home', 'End']) {
        await list.focus();
        await page.keyboard.press(key);
        await settle(page);
      }
      await list.hover();
      await turnWheel(page, -600);
    });
  }
  report('changes', figures);
});

type Api = ReturnType<typeof apiOf>;

/** A stage with files in its worktree. A second turn has them counted, which would be measured with the page. */
async function createStage(api: Api, title: string, change: (folder: string) => Promise<void>): Promise<string> {
  const stageId = await api.stage(title, [{ text: 'Ready.' }]);
  await api.start(stageId);
  const stage = async () => (await api.get(`/api/stages/${stageId}`)).stage;
  await until('its turn is over', async () => (await stage()).session?.lastTurn != null);
  const before = (await stage()).session.lastTurn.at;
  await change((await stage()).worktree.path);
  await api.post(`/api/sessions/${stageId}/message`, { message: prompt({ steps: [{ text: 'Changed.' }] }) });
  await until('its second turn is over', async () => (await stage()).session.lastTurn.at !== before);
  await until('its files are counted', async () => ((await stage()).session.changes?.files ?? 0) > 0, SLOW);
  return stageId;
}

async function writeFiles(folder: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const inner = join(folder, `package-${n % 20}`, 'src', `part-${n % 100}`);
    if (n < 100) await mkdir(inner, { recursive: true });
    await writeFile(join(inner, `file-${n}.ts`), `/** Number ${n}. */\nexport const n${n} = ${n};\n`.repeat(4));
  }
}

async function writeOddFiles(folder: string): Promise<void> {
  await writeFile(join(folder, 'data.json'), JSON.stringify(Array.from({ length: 500_000 }, (_, n) => n * 17)));
  const lines = Array.from({ length: 60_000 }, (_, n) => `export const line${n} = { n: ${n}, text: 'line ${n}' };`);
  await writeFile(join(folder, 'long.ts'), lines.join('\n'));
  const packages = Object.fromEntries(
    Array.from({ length: 4_000 }, (_, n) => [
      `node_modules/package-${n}`,
      { version: `1.0.${n}`, resolved: `https://registry.test/package-${n}.tgz`, integrity: `sha512-${n}` },
    ]),
  );
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages }, null, 2));
  await writeFile(join(folder, 'small.ts'), 'export const small = 1;\n');
  const binary = await open(join(folder, 'video.bin'), 'w');
  const block = Buffer.from(Array.from({ length: 1_000_000 }, (_, n) => (n * 7919) % 251));
  for (let n = 0; n < 300; n += 1) await binary.write(block);
  await binary.close();
}

/** Asks for another stage, again and again. `stop` returns how long each answer took. */
function answersOf(api: Api, stageId: string): { stop(): Promise<number[]> } {
  const ms: number[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const begun = performance.now();
      await api.get(`/api/stages/${stageId}`);
      ms.push(performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  return {
    async stop() {
      isOver = true;
      await asking;
      return ms;
    },
  };
}

/** Nothing is read any more, and two frames were drawn. */
async function settle(page: Page): Promise<void> {
  const list = page.getByRole('region', { name: 'Changed files' });
  await until('the files in sight are read', async () => (await list.getByRole('status').count()) === 0, SLOW);
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(null)))),
  );
}

async function turnWheel(page: Page, by: number): Promise<void> {
  for (let n = 0; n < SCROLLS; n += 1) {
    await page.mouse.wheel(0, by);
    await page.waitForTimeout(16);
  }
}
