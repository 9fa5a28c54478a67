import type { BoardView, StageView } from '@callboard/contract';
import type { Page } from 'playwright-core';
import { openAlone } from './open-alone.ts';

type Show = (tab?: string) => Promise<void>;

const at = new Date(Date.now() - 12 * 60_000).toISOString();

/** Everything on hold since a while ago: messages of one stage wait. */
function pause(view: BoardView): void {
  view.holds = [{ scope: {}, by: 'Ada', at, except: [] }];
  const stage = view.stages.find(({ title }) => title === 'Dark mode');
  if (stage?.session != null) pauseTurn(stage, stage.session);
}

function pauseTurn(stage: StageView, session: NonNullable<StageView['session']>): void {
  const lastTurn = { outcome: 'succeeded', at, message: null, code: null } as const;
  const changed = { state: 'idle', stateSince: at, lastTurn, withheld: true, queued: 2, atGate: false } as const;
  Object.assign(session, changed, { openDenial: null });
  Object.assign(stage, { column: 'running', pullRequest: null, finishing: null });
}

async function withBoard(page: Page, change: (view: BoardView) => void, check: () => Promise<void>): Promise<void> {
  await page.route('**/api/board', async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    change(view);
    await route.fulfill({ response, json: view }).catch(() => undefined);
  });
  await check();
  await page.waitForTimeout(500);
  await page.unroute('**/api/board');
}

/** What is on hold, by the name of the picture. */
export const pausePictures: Record<string, (page: Page, show: Show) => Promise<void>> = {
  'hold-board': (page) => withBoard(page, pause, () => openAlone(page, '/')),
  'hold-stage': (page, show) => withBoard(page, pause, () => show()),
  'hold-dialog': (page) =>
    withBoard(page, pause, async () => {
      await openAlone(page, '/');
      await page.getByRole('button', { name: 'Projects' }).click();
      await page.getByRole('menuitem', { name: 'Hold and release' }).click();
      await page.getByRole('dialog', { name: 'Hold and release' }).waitFor();
    }),
  'hold-picked': (page) =>
    withBoard(page, pause, async () => {
      await openAlone(page, '/');
      for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key);
      await page.getByRole('toolbar', { name: 'Selected stages' }).waitFor();
    }),
};
