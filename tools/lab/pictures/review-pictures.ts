import { ReviewComment, SideRun } from '@callboard/contract';
import type { Page } from 'playwright-core';

const at = '2026-01-02T03:04:05.000Z';
const RUN = {
  id: '0198f3a2-7c1b-4d1e-9a53-5b8f0c2d4e61',
  kind: 'review',
  state: 'done',
  by: 'Ada',
  phaseIndex: null,
  createdAt: at,
  startedAt: at,
  endedAt: at,
  reason: null,
  diff: null,
  costUsd: 0.12,
  findings: 2,
  text: null,
  summary: 'The scheme is followed, but the empty name is not handled and one test asserts nothing.',
  misplaced: [
    {
      path: 'src/old-theme.ts',
      side: 'new',
      line: 12,
      severity: 'low',
      text: 'This file is dead now.',
      why: 'There is no text file src/old-theme.ts with the changes.',
    },
  ],
};
const FAILED = {
  state: 'failed',
  summary: null,
  findings: 0,
  misplaced: [],
  reason: 'Claude did not answer in the form that was asked for. It said: The changes look fine to me.',
};

const STATES = {
  'review-done': {},
  'review-running': {
    state: 'running',
    startedAt: new Date().toISOString(),
    endedAt: null,
    summary: null,
    misplaced: [],
  },
  'review-failed': FAILED,
} as const;

/** Claude's own review in each of its states. @param write shows the changes with two comments, which become findings */
export const reviewPictures = <Scene>(
  write: (page: Page, scene: Scene) => Promise<void> | undefined,
): Record<string, (page: Page, scene: Scene) => Promise<void>> =>
  Object.fromEntries(
    Object.entries(STATES).map(([name, state]) => [
      name,
      async (page: Page, scene: Scene): Promise<void> => {
        await page.route('**/side-runs', (route) => {
          const [, stageId] = /stages\/([^/]+)\//.exec(route.request().url()) ?? [];
          return route.fulfill({ json: { runs: [SideRun.parse({ ...RUN, stageId, ...state })] } });
        });
        await page.route('**/comments', async (route) => {
          if (route.request().method() !== 'GET') return route.continue();
          const response = await route.fetch();
          const { comments } = await response.json();
          const found = ReviewComment.array()
            .parse(comments)
            .map((one, index) => ({ ...one, isFinding: index > 0, severity: index > 0 ? 'high' : null }));
          return route.fulfill({ response, json: { comments: found } });
        });
        await write(page, scene);
        await page.reload();
        const bar = page.getByRole('region', { name: 'Comments' });
        await bar
          .getByRole('button', { name: /comments?/ })
          .first()
          .click();
        await page.waitForTimeout(500);
        await page.unroute('**/comments');
        await page.unroute('**/side-runs');
      },
    ]),
  );
