import type { BoardView, RewindPlan, TranscriptEntry } from '@callboard/contract';
import type { Page } from 'playwright-core';

type Show = (tab?: string) => Promise<void>;

const change = (path: string, status: 'added' | 'modified' | 'deleted', additions: number, deletions: number) => ({
  path,
  oldPath: null,
  status,
  additions,
  deletions,
});
const PLAN: RewindPlan = {
  files: {
    at: '2026-11-23T09:00:00.000Z',
    changes: [
      change('src/theme/dark.css', 'modified', 4, 212),
      change('src/theme/switch.ts', 'modified', 0, 38),
      change('src/pages/settings/appearance/colours-of-the-week.tsx', 'deleted', 0, 96),
      change('src/theme/old.css', 'added', 61, 0),
    ],
    counts: { files: 4, additions: 65, deletions: 346 },
    blocked: [{ path: 'vendor/icons', reason: 'submodule' }],
    notKept: [
      { path: 'node_modules', reason: 'ignored', bytes: null },
      { path: 'fixtures/day.bin', reason: 'too-large', bytes: 88_000_000 },
    ],
    commits: 2,
  },
  filesProblem: null,
  conversation: { messages: 3, isNew: false },
  conversationProblem: null,
  text: 'Build a dark mode.',
};

/** Returns the menu of the first message, which only a touch screen has; null elsewhere. */
async function firstMenu(page: Page) {
  const either = page.getByRole('button', { name: /^(Message actions|Back to here)$/ });
  await either.first().waitFor();
  const menu = page.getByRole('button', { name: 'Message actions' }).first();
  return (await menu.isVisible()) ? menu : null;
}

/** Opens an action at the first message of the stage: by its button, or on a phone in its menu. */
async function act(page: Page, name: string): Promise<void> {
  const menu = await firstMenu(page);
  await menu?.press('Enter');
  const role = menu === null ? 'button' : 'menuitem';
  await page.getByRole(role, { name }).first().click();
  await page.getByRole('dialog', { name }).waitFor();
}

/** The index of the notice that follows what was taken back. */
const AFTER = 400;

/** Shows the stage as after somebody went back to its first message. */
async function afterRewind(page: Page, show: Show, open: boolean): Promise<void> {
  await page.route(/\/transcript\b/, async (route) => {
    const response = await route.fetch();
    const found: { entries: TranscriptEntry[]; total: number } = await response.json();
    const [first] = found.entries;
    if (first === undefined) return route.fulfill({ response });
    const text =
      'Ada went back to before an earlier message: files and conversation are as then. These stayed as they are, because they could not be restored: vendor/icons.';
    const { stageId, at } = first;
    const notice = { stageId, at, index: AFTER, parentToolUseId: null, kind: 'notice', level: 'info' };
    const entries = [...found.entries, { ...notice, code: 'gone-back', text }];
    return route.fulfill({ response, json: { entries, total: AFTER } }).catch(() => undefined);
  });
  await page.route('**/api/board', async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    const by = { by: 'Ada', at: '2026-11-23T09:00:00.000Z', messageId: '00000000-0000-7000-8000-000000000001' };
    const goneBack = [{ id: 'one', ...by, from: 1, to: AFTER - 1, files: true, conversation: true, canUndo: true }];
    for (const { title, session } of view.stages)
      if (title === 'Dark mode' && session !== null) Object.assign(session, { goneBack });
    await route.fulfill({ response, json: view }).catch(() => undefined);
  });
  await show();
  const line = page.getByRole('button', { name: /^Taken back at/ });
  await line.waitFor();
  if (open) await line.click();
  await page.waitForTimeout(400);
  await page.unroute('**/api/board');
  await page.unroute(/\/transcript\b/);
}

/** Going back to an earlier message, and forking there, by the name of the picture. */
export const rewindPictures: Record<string, (page: Page, show: Show) => Promise<void>> = {
  'going-back': async (page, show) => {
    await show();
    await act(page, 'Back to here');
    await page.getByRole('checkbox', { name: 'Files' }).waitFor();
    await page.waitForTimeout(400);
  },
  'going-back-plan': async (page, show) => {
    await page.route('**/rewind', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), plan: PLAN } }).catch(() => undefined);
    });
    await show();
    await act(page, 'Back to here');
    await page.getByText('Not part of this').click();
    await page.waitForTimeout(400);
    await page.unroute('**/rewind');
  },
  'going-back-fork': async (page, show) => {
    await show();
    await act(page, 'Fork from here');
    await page.waitForTimeout(400);
  },
  'going-back-actions': async (page, show) => {
    await show();
    const menu = await firstMenu(page);
    if (menu !== null) await menu.press('Enter');
    else await page.getByRole('button', { name: 'Back to here' }).first().hover();
    await page.waitForTimeout(400);
  },
  'going-back-after': (page, show) => afterRewind(page, show, false),
  'going-back-open': (page, show) => afterRewind(page, show, true),
};
