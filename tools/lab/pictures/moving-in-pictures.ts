import type { BoardView, Conversation, IssueList } from '@callboard/contract';
import type { Page } from 'playwright-core';

type Show = (tab?: string) => Promise<void>;

const FOLDER = '/home/ada/code/storefront';
const conversation = (n: number, firstWords: string, fields: Partial<Conversation> = {}): Conversation => ({
  conversationId: `24796da1-60bd-44a0-8d5b-00000000000${n}`,
  name: null,
  firstWords,
  folder: FOLDER,
  branch: 'main',
  startedAt: '2026-11-20T09:00:00.000Z',
  updatedAt: '2026-11-23T09:00:00.000Z',
  messages: 12,
  bytes: 240_000,
  isOpen: false,
  ...fields,
});
const CONVERSATIONS = [
  conversation(
    1,
    'The login form accepts an empty password. Find out why, and mend it with a test.\nKeep the messages short.',
    { isOpen: true },
  ),
  conversation(2, 'Why is the build slow since Monday?', { name: 'Slow build', messages: 3, branch: 'perf/build' }),
  conversation(
    3,
    'Draft the release notes for 2.4 from the commits since 2.3, grouped by area, and leave out what only tests changed',
    {
      messages: null,
      bytes: 48_000_000,
      branch: null,
      folder: `${FOLDER}/packages/very/deep/inside/of/the/tree/release-notes`,
    },
  ),
];
const FOLDERS = [{ folder: FOLDER, branch: 'main', uncommitted: 4 }];
const issue = (number: number, title: string, fields: Partial<IssueList['issues'][number]> = {}) => ({
  number,
  title,
  url: `https://github.com/acme/storefront/issues/${number}`,
  labels: ['bug'],
  author: 'grace',
  updatedAt: '2026-11-22T09:00:00.000Z',
  stageId: null,
  ...fields,
});
const ISSUES = [
  issue(214, 'Login form accepts an empty password', { labels: ['bug', 'security'] }),
  issue(209, 'The price of a bundle is rounded twice when a voucher and a discount are both in the cart of a guest'),
  issue(198, 'Dark mode', { labels: [], author: null }),
];
const PLACE = { repository: 'github.com/acme/storefront', host: 'github' };
const LOGIN = {
  code: 'code_host_login',
  message: 'gh is not logged in to github.com. Log in in a terminal, then try again.',
  command: 'gh auth login --hostname github.com',
  url: null,
};

/** Opens a form of the palette, with these answers. */
function form(
  text: string,
  answers: Record<string, object>,
  then: (page: Page) => Promise<void> = async () => undefined,
) {
  return async (page: Page, show: Show): Promise<void> => {
    for (const [name, json] of Object.entries(answers)) await page.route(name, (route) => route.fulfill({ json }));
    await show();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or command' }).fill(text);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await then(page);
    await page.waitForTimeout(400);
    for (const name of Object.keys(answers)) await page.unroute(name);
  };
}

const list = (conversations: Conversation[]) => ({
  '**/conversations': {
    conversations,
    older: conversations.length === 0 ? 0 : 4,
    folders: FOLDERS,
    source: '/home/ada/.claude/projects',
  },
});

/** Work that was begun elsewhere, by the name of the picture. */
export const movingInPictures: Record<string, (page: Page, show: Show) => Promise<void>> = {
  'moving-in-list': form('Continue a conv', list(CONVERSATIONS)),
  'moving-in-empty': form('Continue a conv', list([])),
  'moving-in-adopt': form('Continue a conv', list(CONVERSATIONS), (page) =>
    page
      .getByRole('dialog')
      .getByRole('button', { name: /empty password/ })
      .click(),
  ),
  'moving-in-issues': form(
    'Import issues',
    { '**/issues': { ...PLACE, issues: ISSUES, problem: null } },
    async (page) => {
      await page.getByRole('checkbox', { name: /Dark mode/ }).check();
    },
  ),
  'moving-in-login': form('Import issues', { '**/issues': { ...PLACE, issues: [], problem: LOGIN } }),
  'moving-in-before': async (page, show) => {
    await page.route('**/api/board', async (route) => {
      const response = await route.fetch();
      const view: BoardView = await response.json();
      const adopted = {
        conversationId: 'c',
        folder: FOLDER,
        branch: 'main',
        at: '2026-11-23T09:00:00.000Z',
        lastEntry: 2,
      };
      for (const stage of view.stages) if (stage.title === 'Dark mode') Object.assign(stage, { adopted });
      await route.fulfill({ response, json: view }).catch(() => undefined);
    });
    await show();
    await page.getByRole('button', { name: /Before Callboard/ }).waitFor();
    await page.waitForTimeout(400);
    await page.unroute('**/api/board');
  },
};
