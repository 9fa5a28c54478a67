import { type BoardView, PullRequest, PullRequestPlan } from '@callboard/contract';
import type { Page } from 'playwright-core';

type Show = (tab?: string) => Promise<void>;

const [head, tree, at] = ['a'.repeat(40), 'b'.repeat(40), '2026-01-02T03:04:05.000Z'];
const PLAN = PullRequestPlan.parse({
  branch: 'callboard/STAGE-1',
  head,
  tree,
  base: 'main',
  remote: 'origin',
  host: 'github',
  repository: 'github.com/acme/storefront',
  commits: 3,
  unpushed: 3,
  files: 12,
  uncommitted: ['src/theme.ts'],
  uncommittedCount: 1,
  title: 'Dark mode',
  problem: null,
  body: 'Follow the colour scheme of the system.\n\nCommits:\n\n- Write the tokens of both schemes\n- Follow the system\n- Test both schemes',
});
const LOGIN = {
  code: 'code_host_login',
  message: 'gh is not logged in to github.com. Log in in a terminal, then try again.',
  command: 'gh auth login --hostname github.com',
  url: 'https://github.com/acme/storefront/compare/main...callboard/STAGE-1?expand=1',
};
const REFUSED = {
  code: 'push_refused',
  message:
    'origin does not accept callboard/STAGE-1: a rule or a hook there refuses it. Nothing was pushed.\nmain is frozen until Monday',
  command: null,
  url: null,
};
const OPEN = PullRequest.parse({
  host: 'github',
  number: 12,
  url: 'https://github.com/acme/storefront/pull/12',
  title: 'Dark mode',
  state: 'open',
  base: 'main',
  branch: 'callboard/STAGE-1',
  head,
  checks: 'failing',
  failing: ['test', 'lint'],
  unresolved: 2,
  conflicts: true,
  mergeCommit: null,
  checkedAt: at,
  stale: 'github.com cannot be reached. Check the connection, then try again.',
});
const COMMENTS = [
  {
    id: '1',
    path: 'src/theme/tokens.ts',
    line: 41,
    author: 'grace',
    text: 'Is this contrast enough on the sunken surface?',
    url: null,
  },
  { id: '2', path: null, line: null, author: 'linus', text: 'Please split the tests.', url: null },
];

interface Scene {
  plan?: Partial<PullRequestPlan>;
  stage?: object;
  where?: 'dialog' | 'changes' | 'board';
  /** A button to press then. */
  press?: string;
}

const SCENES: Readonly<Record<string, Scene>> = {
  order: {},
  'no-login': { plan: { problem: LOGIN } },
  refused: {
    stage: {
      finishing: {
        way: 'pull-request',
        state: 'refused',
        by: 'Ada',
        at,
        turn: null,
        problem: REFUSED,
        order: { id: '1', title: 'Dark mode', body: 'Follow the system.', draft: true, head },
      },
    },
  },
  open: { plan: { unpushed: 0, uncommittedCount: 0 }, stage: { pullRequest: OPEN }, where: 'changes' },
  comments: {
    plan: { unpushed: 1, uncommittedCount: 0 },
    stage: { pullRequest: OPEN },
    press: 'Choose 2 comments ...',
  },
  board: { stage: { pullRequest: { ...OPEN, stale: null, conflicts: false } }, where: 'board' },
};

/** Every state of finishing by a pull request, by the name of its picture. */
export const pullRequestPictures: Record<string, (page: Page, show: Show) => Promise<void>> = Object.fromEntries(
  Object.entries(SCENES).map(([name, scene]) => [`pull-request-${name}`, pictureOf(scene)] as const),
);

function pictureOf({ plan = {}, stage: fields = {}, where = 'dialog', press }: Scene) {
  return async (page: Page, show: Show): Promise<void> => {
    await page.route('**/pull-request', (route) => route.fulfill({ json: { plan: { ...PLAN, ...plan } } }));
    await page.route('**/pull-request/feedback', (route) =>
      route.fulfill({ json: { feedback: { checks: [], comments: COMMENTS } } }),
    );
    await page.route('**/api/board', async (route) => {
      const response = await route.fetch();
      const view: BoardView = await response.json();
      for (const stage of view.stages) if (stage.title === 'Dark mode') Object.assign(stage, fields);
      await route.fulfill({ response, json: view }).catch(() => undefined);
    });
    await show(where === 'changes' ? 'changes' : undefined);
    if (where === 'board') await page.getByRole('link', { name: /^Board/ }).click();
    const place = where === 'dialog' ? page.getByRole('dialog') : page.getByRole('region', { name: 'Finish' });
    if (where === 'dialog') {
      await page.getByRole('button', { name: 'Finish', exact: true }).first().click();
      await place.getByRole('radiogroup', { name: 'How to finish' }).waitFor();
      await place.getByText('Pull request', { exact: true }).click();
    }
    if (where === 'changes') await page.getByRole('button', { name: 'Finish', exact: true }).click();
    if (press !== undefined) await place.getByRole('button', { name: press }).click();
    await page.waitForTimeout(300);
    await page.unroute('**/api/board');
  };
}
