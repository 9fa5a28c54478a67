import type { BoardView, LimitStatus, StageView } from '@callboard/contract';
import type { Page } from 'playwright-core';
import { openAlone } from './open-alone.ts';

type Show = (tab?: string) => Promise<void>;

const HOUR = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString();

interface Scene {
  status: LimitStatus;
  /** How the stage that stopped goes on: by itself, or as a person decides. */
  wait?: 'by-itself' | 'kept';
}

/** The stage "Dark mode" as stopped at a limit. */
function atLimit(stage: StageView, wait: 'by-itself' | 'kept'): void {
  const at = inHours(-1);
  const resetsAt = inHours(2);
  const lastTurn = { outcome: 'failed', at, message: 'You’ve hit your 5-hour limit', code: 'usage-limit' };
  const limitWait = { since: at, window: 'five_hour', resetsAt, goesOnAt: wait === 'kept' ? null : resetsAt };
  const changed = { state: 'idle', stateSince: at, lastTurn, limitWait, atGate: false, openDenial: null };
  if (stage.session !== null) Object.assign(stage.session, changed);
  Object.assign(stage, { column: wait === 'kept' ? 'needs-you' : 'running', pullRequest: null, finishing: null });
}

/** Shows a page of an account whose limit of five hours is near or reached. */
async function withLimits(page: Page, { status, wait }: Scene, check: () => Promise<void>): Promise<void> {
  await page.route('**/api/board', async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    const utilization = status === 'reached' ? 1 : 0.93;
    view.limits = {
      limits: {
        status,
        window: 'five_hour',
        resetsAt: inHours(2),
        isUsingOverage: false,
        at: inHours(-0.1),
        windows: [
          { name: 'five_hour', utilization, status, resetsAt: inHours(2) },
          { name: 'seven_day', utilization: 0.41, status: 'allowed', resetsAt: inHours(80) },
        ],
      },
      settings: { goesOnAtReset: true, holdStartsAt: 0.9 },
    };
    const stage = view.stages.find(({ title }) => title === 'Dark mode');
    if (stage !== undefined && wait !== undefined) atLimit(stage, wait);
    await route.fulfill({ response, json: view }).catch(() => undefined);
  });
  await check();
  await page.waitForTimeout(500);
  await page.unroute('**/api/board');
}

/** Usage limits of the account, by the name of the picture. */
export const limitPictures: Record<string, (page: Page, show: Show) => Promise<void>> = {
  'limit-near': (page) => withLimits(page, { status: 'near' }, () => openAlone(page, '/')),
  'limit-board': (page) => withLimits(page, { status: 'reached', wait: 'by-itself' }, () => openAlone(page, '/')),
  'limit-sessions': (page) =>
    withLimits(page, { status: 'reached', wait: 'by-itself' }, () => openAlone(page, '/?view=list')),
  'limit-stage': (page, show) => withLimits(page, { status: 'reached', wait: 'by-itself' }, () => show()),
  'limit-kept': (page, show) => withLimits(page, { status: 'reached', wait: 'kept' }, () => show()),
  'limit-details': (page, show) => withLimits(page, { status: 'reached', wait: 'by-itself' }, () => show('details')),
  'limit-dialog': (page) =>
    withLimits(page, { status: 'reached', wait: 'by-itself' }, async () => {
      await openAlone(page, '/');
      await page.getByRole('button', { name: 'Usage limits', exact: true }).click();
      await page.getByRole('dialog', { name: 'Usage limits' }).waitFor();
    }),
};
