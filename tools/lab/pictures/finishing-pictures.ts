import { type BoardView, Completion, type MergePlan } from '@callboard/contract';
import type { Page } from 'playwright-core';

const [head, tree] = ['a'.repeat(40), 'b'.repeat(40)];
const ALL: Partial<MergePlan> = { branch: 'callboard/STAGE-1', head, tree, into: 'main', commits: 3, files: 12 };

type Answer = Partial<MergePlan> | null;
type Where = 'dialog' | 'changes';

const FILES = [
  'tools/web-server/src/client/features/session/components/finish-panel.tsx',
  'src/routes/login.ts',
  'src/routes/login.test.ts',
];
const MESSAGE = 'Dark mode\n\n* Write the tokens of both schemes\n* Follow the system\n* Test both schemes';
const DIRTY =
  'The main checkout at /home/ada/work/storefront has uncommitted changes. Commit or stash them, then merge.';
const DETACHED =
  'The main checkout at /home/ada/work/storefront is not on a branch. Check out the branch to merge into.';
const OLD = 'To squash or rebase, Callboard needs git 2.38 or newer. Merge with a merge commit, or update git.';
const MERGED = {
  method: 'merge',
  commit: '3f2a1c7'.padEnd(40, '0'),
  into: 'main',
  branch: 'callboard/STAGE-1',
  head,
  previous: tree,
  commits: 3,
  files: 12,
  at: '2026-11-23T11:00:00.000Z',
};
const STOPPED = { commit: '3f2a1c7'.padEnd(40, '0'), subject: 'Write the tokens of both schemes' };

/** What git may say of a stage that is to be completed, and where it is seen. */
const STATES: Record<string, { answer: Answer; way?: 'Squash' | 'Rebase'; where?: Where }> = {
  clean: { answer: {} },
  squash: { answer: { message: MESSAGE }, way: 'Squash' },
  rebase: { answer: {}, way: 'Rebase' },
  uncommitted: { answer: { commits: 0, uncommitted: FILES.slice(1), uncommittedCount: 2, files: 2 } },
  nothing: { answer: { commits: 0, files: 0 } },
  'never-started': { answer: null },
  conflict: { answer: { conflicts: FILES } },
  'rebase-conflict': { answer: { conflicts: FILES.slice(0, 1), stoppedAt: STOPPED }, way: 'Rebase' },
  dirty: { answer: { refusal: DIRTY } },
  'dirty-uncommitted': { answer: { refusal: DIRTY, uncommitted: FILES.slice(1), uncommittedCount: 2 } },
  detached: {
    answer: { into: null, commits: 0, files: 0, refusal: DETACHED, uncommittedCount: 1, uncommitted: ['a'] },
  },
  'old-git': { answer: { refusal: OLD }, way: 'Squash' },
  'end-clean': { answer: {}, where: 'changes' },
  'end-uncommitted': { answer: { commits: 0, uncommitted: FILES, uncommittedCount: 3 }, where: 'changes' },
  'end-conflict': { answer: { conflicts: FILES }, where: 'changes' },
};

/** Every state of the dialog that completes a stage, and of the end of Changes, by the name of its picture. */
export const finishingPictures: Record<string, (page: Page, show: Show) => Promise<void>> = Object.fromEntries([
  ...Object.entries(STATES).map(([name, state]) => [`finish-${name}`, appearanceOf(state)] as const),
  ['finish-refused', afterwards('merge_conflict', 'callboard/STAGE-1 conflicts with main in src/app.ts.')] as const,
  ['finish-working', afterwards(null, '')] as const,
  ['finish-done', done] as const,
  ['finish-later', mergeLater] as const,
]);

function appearanceOf({ answer, way, where = 'dialog' }: (typeof STATES)[string]) {
  return async (page: Page, show: Show): Promise<void> => {
    await answerWith(page, answer);
    await show(where === 'changes' ? 'changes' : undefined);
    if (where === 'changes') {
      await page.getByRole('button', { name: 'Finish', exact: true }).click();
      await page.getByRole('region', { name: 'Finish' }).getByRole('button').first().waitFor();
      return;
    }
    const dialog = await openDialog(page);
    const ways = dialog.getByRole('radiogroup', { name: 'How to finish' });
    if (await ways.isVisible()) await ways.getByText(way ?? 'Merge commit', { exact: true }).click();
  };
}

/** The moment while git works, or after it has refused. */
function afterwards(code: string | null, detail: string) {
  return async (page: Page, show: Show): Promise<void> => {
    await appearanceOf({ answer: {} })(page, show);
    await page.route('**/complete', async (route) => {
      if (code === null) return;
      const problem = { type: 'about:blank', title: 'Conflict', status: 409, code, detail };
      await route.fulfill({ status: 409, contentType: 'application/problem+json', json: problem });
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Merge into main' }).click();
    if (code !== null) await page.getByRole('dialog').getByText(detail).waitFor();
    await page.unroute('**/complete');
  };
}

type Show = (tab?: string) => Promise<void>;

/** What is said for ten seconds afterwards. */
async function done(page: Page, show: Show): Promise<void> {
  const stages: BoardView['stages'] = [];
  await page.route('**/api/board', async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    stages.push(...view.stages);
    await route.fulfill({ response, json: view }).catch(() => undefined);
  });
  await appearanceOf({ answer: {} })(page, show);
  await page.unroute('**/api/board');
  await page.route('**/complete', async (route) => {
    const stage = stages.find(({ title }) => title === 'Dark mode');
    await route.fulfill({ json: { stage: { ...stage, completedAt: MERGED.at, column: 'done', merged: MERGED } } });
  });
  await page.getByRole('dialog').getByRole('button', { name: 'Merge into main' }).click();
  await page.getByText('merged 3f2a1c7 into main').waitFor();
  await page.unroute('**/complete');
}

/** A stage that is done and was not merged. */
async function mergeLater(page: Page, show: Show): Promise<void> {
  await answerWith(page, {});
  await page.route('**/api/board', async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    for (const stage of view.stages)
      if (stage.title === 'Dark mode') Object.assign(stage, { completedAt: stage.updatedAt, column: 'done' });
    await route.fulfill({ response, json: view }).catch(() => undefined);
  });
  await show();
  await page.getByRole('button', { name: 'Merge', exact: true }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Merge into main' }).waitFor();
  await page.unroute('**/api/board');
}

async function answerWith(page: Page, answer: Answer): Promise<void> {
  await page.unroute('**/completion*');
  await page.route('**/completion*', async (route) => {
    const method = new URL(route.request().url()).searchParams.get('method') ?? 'merge';
    // The real commit and files: otherwise they would count as changed since they were seen.
    const real = await route.fetch().catch(() => null);
    const { head, tree, branch } = (await real?.json())?.completion.plan ?? ALL;
    const rest = { head, tree, branch, uncommitted: [], uncommittedCount: 0, conflicts: [], refusal: null };
    const plan = answer === null ? null : { ...ALL, ...rest, ...answer, method };
    // The page may have gone on to the next picture.
    await route.fulfill({ json: { completion: Completion.parse({ plan, undo: null }) } }).catch(() => undefined);
  });
}

async function openDialog(page: Page) {
  await page.getByRole('button', { name: 'Finish', exact: true }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: /^Finish/ }).waitFor();
  return dialog;
}
