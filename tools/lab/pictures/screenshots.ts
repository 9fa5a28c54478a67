/** Writes pictures of every page, or of the named ones, in both schemes and three widths, into the folder that is its first argument. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { closeBrowsers, openBrowser } from '../../../e2e/support/browser.ts';
import { install } from '../../../e2e/support/callboard.ts';
import { showManyStages } from '../../../e2e/support/many-stages.ts';
import { DOT } from '../../../e2e/support/open-stage.ts';
import { claudePidOf } from '../../../e2e/support/processes.ts';
import { apiOf, makeScene, type Scene } from '../../../e2e/support/scene.ts';
import { checkPictures } from './check-pictures.ts';
import { finishingPictures } from './finishing-pictures.ts';
import { limitPictures } from './limit-pictures.ts';
import { machinePictures } from './machine-pictures.ts';
import { movingInPictures } from './moving-in-pictures.ts';
import { alone, openPage } from './open-alone.ts';
import { pausePictures } from './pause-pictures.ts';
import { pullRequestPictures } from './pull-request-pictures.ts';
import { reviewPictures } from './review-pictures.ts';
import { rewindPictures } from './rewind-pictures.ts';
import { rulePictures } from './rule-pictures.ts';
import { workspacePictures } from './workspace-pictures.ts';

const [target, ...wanted] = process.argv.slice(2);
if (target === undefined) {
  console.error('Usage: npm run screenshots -- <folder> [picture...]');
  process.exit(2);
}

const ends: (() => void | Promise<void>)[] = [];
const atEnd = (end: () => void | Promise<void>) => void ends.unshift(end);

const SIZES = {
  desktop: { width: 1440, height: 900 },
  small: { width: 1024, height: 768 },
  phone: { width: 390, height: 844 },
};
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);
type Check = (page: Page, scene: Scene) => Promise<void>;

const open = (path: string) => (page: Page) => openPage(page, path);

/** Whether the form of a new stage has a draft. */
let hasDraft = false;

const PICTURES: Record<string, Check> = {
  overlay: async (page) => {
    await open('/')(page);
    await page.getByRole('dialog').waitFor();
  },
  board: async (page) => {
    await open('/')(page);
    await alone(page);
  },
  panel: (page) => shownAs(page, 'panel'),
  quiet: (page) => shownAs(page, 'quiet'),
  inbox: async (page) => {
    await open('/inbox')(page);
    await page.getByRole('heading', { name: 'Inbox' }).waitFor(); // the page is loaded when it is first opened
  },
  'inbox-detail': async (page) => {
    await open('/inbox')(page);
    await page.getByRole('main').getByText('Login form').first().click();
    await page.getByRole('form').first().waitFor();
  },
  later: async (page) => {
    await shownAs(page, 'overlay');
    await page.getByRole('button', { name: 'Until when' }).click();
    await page.getByRole('menu').waitFor();
  },
  sessions: async (page) => {
    await open('/?view=list')(page);
    await alone(page);
  },
  search: async (page) => {
    await open('/search?q=the')(page);
    await alone(page);
    await page.getByRole('region', { name: 'Results' }).getByRole('link').first().waitFor();
  },
  'search-nothing': async (page) => {
    await open('/search?q=zebra%20crossing&kind=decision')(page);
    await alone(page);
    await page.getByText('No results for').waitFor();
  },
  'search-palette': async (page) => {
    await open('/')(page);
    await alone(page);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or command' }).fill('login');
    await page.getByRole('group', { name: /^In / }).first().waitFor();
  },
  notifications: async (page) => {
    await open('/notifications')(page);
    await alone(page);
  },
  decisions: async (page) => {
    await open('/decisions')(page);
    await alone(page);
  },
  'stage-running': (page, { running }) => stage(page, running),
  'stage-review': (page, { review }) => stage(page, review),
  'stage-failed': (page, { failed }) => stage(page, failed),
  'stage-changes': (page, { review }) => tab(page, review, 'changes'),
  'stage-changes-split': async (page, scene) => {
    await PICTURES['stage-changes']?.(page, scene);
    const split = page.getByRole('button', { name: 'Side by side' });
    if (await split.isVisible()) await split.click();
  },
  'stage-comments': async (page, scene) => {
    await PICTURES['stage-changes']?.(page, scene);
    const list = page.getByRole('region', { name: 'Changed files' });
    const number = list.getByRole('button', { name: /^Comment on line \d+$/ });
    await number.nth(2).click();
    await page
      .getByRole('textbox', { name: /^Comment on line/ })
      .fill('Check the empty case: an empty name is no name.');
    await page.keyboard.press('Control+Enter');
    await list.getByRole('article').first().waitFor();
    await number.nth(5).click();
    await page.getByRole('textbox', { name: /^Comment on line/ }).fill('Why not the same as above?');
    await page.getByRole('button', { name: /^Ask for changes/ }).waitFor();
  },
  ...reviewPictures(async (page, scene) => PICTURES['stage-comments']?.(page, scene)),
  complete: async (page, { review }) => {
    await stage(page, review);
    await page.getByRole('button', { name: 'Finish', exact: true }).click();
    await page
      .getByRole('region', { name: 'Finish' })
      .getByRole('button', { name: /into main$/ })
      .waitFor();
  },
  ...Object.fromEntries(
    Object.entries({
      ...finishingPictures,
      ...pullRequestPictures,
      ...workspacePictures,
      ...movingInPictures,
      ...checkPictures,
      ...rewindPictures,
      ...limitPictures,
      ...rulePictures,
      ...pausePictures,
      ...machinePictures,
    }).map(([name, check]): [string, Check] => [
      name,
      (page, { review }) => check(page, (name) => (name === undefined ? stage(page, review) : tab(page, review, name))),
    ]),
  ),
  'stage-phases': (page, { running }) => tab(page, running, 'phases'),
  'stage-details': (page, { review }) => tab(page, review, 'details'),
  'stage-approval': (page, { approval }) => asking(page, approval),
  'stage-edit': (page, { edit }) => asking(page, edit),
  'stage-question': (page, { question }) => asking(page, question),
  'stage-plan': (page, { plan }) => asking(page, plan),
  'inbox-question': async (page) => {
    await open('/inbox')(page);
    await page.getByRole('main').getByText('Orders page').first().click();
    await page.getByRole('radio').first().waitFor();
  },
  'always-allow': async (page, { approval }) => {
    await asking(page, approval);
    await page.getByRole('button', { name: /Always allow/ }).click();
  },
  'new-stage': async (page) => {
    await open('/')(page);
    await alone(page);
    await page.getByRole('button', { name: 'New stage' }).click();
    // What a picture before this one wrote comes back with its files, but not at once.
    const before = page.getByRole('button', { name: 'Start over' });
    if (hasDraft) await before.click();
    hasDraft = true;
    const prompt = page.getByRole('textbox', { name: 'Prompt', exact: true });
    await prompt.fill('Send a receipt by mail after each order. Begin with the template, then add a test.');
  },
  'new-stage-open': async (page, scene) => {
    await PICTURES['new-stage']?.(page, scene);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('combobox', { name: 'Pipeline' }).selectOption('Plan, build, verify');
    await page.getByRole('combobox', { name: 'At the end' }).selectOption('merge');
    await page.getByRole('combobox', { name: 'Priority' }).selectOption('0');
    await page.getByRole('button', { name: /^Branch/ }).click();
  },
  'new-stage-files': async (page, scene) => {
    await PICTURES['new-stage']?.(page, scene);
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('Look at @');
    await page.getByRole('listbox', { name: 'Files' }).waitFor();
  },
  'new-stage-images': async (page, scene) => {
    await PICTURES['new-stage']?.(page, scene);
    const picture = { name: 'the page as it should be.png', mimeType: 'image/png', buffer: await page.screenshot() };
    const log = {
      name: 'error.log',
      mimeType: 'text/plain',
      buffer: Buffer.from('TypeError: x is undefined\n'.repeat(90)),
    };
    await page.getByLabel('Attach files').setInputFiles([picture, log]);
    await page.getByRole('button', { name: 'Remove error.log' }).waitFor();
  },
  'failed-start': async (page) => {
    const detail =
      'The worktree was not created. The disk is full. Free some space, then try again.\nfatal: could not create work tree: No space left on device';
    const code = 'worktree_failed';
    const body = { type: `urn:callboard:problem:${code}`, title: 'Worktree failed', status: 503, code, detail };
    await page.route('**/start', (route) => route.fulfill({ status: 503, json: body }));
    await open('/')(page);
    await alone(page);
    const tab = page.getByRole('tab', { name: /^Ready/ });
    if (await tab.isVisible()) await tab.click();
    await page.getByRole('button', { name: 'Start', exact: true }).first().click();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await page.unroute('**/start');
  },
  project: async (page) => {
    await open('/')(page);
    await alone(page);
    await page.getByRole('button', { name: 'Projects' }).click();
    await page.getByRole('menuitem', { name: 'shop' }).click();
    await page.getByRole('dialog', { name: 'Project shop' }).waitFor();
  },
  'project-worktrees': async (page, scene) => {
    await PICTURES.project?.(page, scene);
    await toSection(page, 'Worktrees');
  },
  'project-pipelines': async (page, scene) => {
    await PICTURES.project?.(page, scene);
    await toSection(page, 'Pipelines');
    await page.getByRole('button', { name: /^Plan, build, verify/ }).click();
  },
  'project-pipeline-own': async (page, scene) => {
    await PICTURES['project-pipelines']?.(page, scene);
    await page.getByRole('button', { name: 'Copy to custom pipelines' }).click();
    await page.getByRole('combobox', { name: 'When phase 2 is finished' }).selectOption('check');
    await page.getByRole('textbox', { name: 'Check of phase 2', exact: true }).fill('npm test');
    await page.getByRole('textbox', { name: 'Prompt of phase 2' }).fill('See {{stage.titel}}');
    await page.getByText('Names for prompts').click();
  },
  rules: async (page, scene) => {
    await PICTURES.project?.(page, scene);
    await page.getByRole('heading', { name: 'Always allowed' }).waitFor();
    await toSection(page, 'Rules');
  },
  trash: async (page) => {
    await open('/trash')(page);
    await alone(page);
  },
  wall: async (page) => {
    await open('/wall')(page);
  },
  'not-found': async (page) => {
    await open('/nowhere')(page);
    await alone(page);
  },
  numbers: async (page) => {
    await open('/numbers')(page);
    await alone(page);
    await page.getByRole('button', { name: /^Waits by day, as a table/ }).click();
  },
  account: (page) => accountMenu(page),
  budgets: (page) => accountMenu(page, 'Budgets'),
  logins: (page) => accountMenu(page, 'Logins'),
  palette: async (page) => {
    await open('/')(page);
    await alone(page);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or command' }).waitFor();
  },
  keys: async (page) => {
    await open('/')(page);
    await alone(page);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  },
};

const SHOWN = {
  overlay: { choice: 'Over the page', role: 'dialog', name: /./ },
  panel: { choice: 'Beside the page', role: 'region', name: 'Waiting request' },
  quiet: { choice: 'Only a card in the corner', role: 'region', name: 'Request' },
} as const;

/** Scrolls the open project to one of its sections. */
const toSection = (page: Page, name: string) =>
  page.getByRole('region', { name, exact: true }).scrollIntoViewIfNeeded();

/** The board with the requests over it, beside it, or only in its corner. */
async function shownAs(page: Page, presentation: keyof typeof SHOWN): Promise<void> {
  await open('/inbox')(page);
  await page.getByRole('button', { name: 'Account' }).click();
  const { choice, role, name } = SHOWN[presentation];
  const chosen = page.getByRole('menuitemradio', { name: choice });
  if ((await chosen.getAttribute('aria-checked')) !== 'true') await stored(page, '/api/me', () => chosen.click());
  await page.keyboard.press('Escape');
  const later = page.getByRole('region', { name: 'Snoozed' }).getByRole('link');
  for (let left = await later.count(); left > 0; left -= 1) {
    await later.first().click();
    await stored(page, '/later', () => page.getByRole('button', { name: 'Show again' }).click());
  }
  await open('/')(page);
  await page.getByRole(role, { name }).waitFor();
}

/** Does what stores something, and waits until it is: the next page asks the server. */
async function stored(page: Page, path: string, act: () => Promise<void>): Promise<void> {
  const answer = page.waitForResponse(
    (response) => response.url().endsWith(path) && response.request().method() !== 'GET',
  );
  await act();
  await answer;
}

/** The account's menu, or the dialog that one of its entries opens. */
async function accountMenu(page: Page, entry?: 'Budgets' | 'Logins'): Promise<void> {
  await open('/')(page);
  await alone(page);
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('menuitem', { name: 'Log out' }).waitFor();
  if (entry === undefined) return;
  await page.getByRole('menuitem', { name: entry }).click();
  await page.getByRole('dialog', { name: entry }).waitFor();
}

/** Writes into the message box, which may have the same as a draft. */
async function type(page: Page, text: string): Promise<void> {
  const box = page.getByRole('textbox', { name: 'Message', exact: true });
  await box.fill('');
  await box.fill(text);
}

/** What changes the scene, and so comes last; each is seen with what came before it. */
const LAST: Record<string, Check> = {
  'completion-files': async (page, { review }) => {
    await stage(page, review);
    await type(page, 'Compare it with @');
    await page.getByRole('listbox', { name: 'Files' }).getByRole('option').first().waitFor();
  },
  'completion-commands': async (page, { review }) => {
    await stage(page, review);
    await type(page, '/co');
    await page.getByRole('listbox', { name: 'Commands' }).getByRole('option').first().waitFor();
  },
  'queue-held': async (page, { running }) => {
    await stage(page, running);
    await page
      .getByRole('region', { name: 'Queued messages' })
      .getByText(/^Paused/)
      .waitFor();
  },
  replay: async (page, scene) => {
    await LAST['stage-merged']?.(page, scene);
    await open(`/stages/${scene.review}/replay`)(page);
    await alone(page);
    await page.getByRole('slider', { name: 'Position' }).press('End');
    await page.getByRole('button', { name: 'Play' }).waitFor();
  },
  'stage-merged': async (page, { review }) => {
    await stage(page, review);
    const undo = page.getByRole('button', { name: 'Undo merge' });
    const finish = page.getByRole('button', { name: 'Finish', exact: true });
    await undo.or(finish).first().waitFor();
    if (await finish.first().isVisible()) {
      await finish.first().click();
      await page.getByRole('button', { name: /into main$/ }).click();
    }
    await undo.waitFor();
  },
  'unsettled-board': async (page) => {
    await open('/')(page);
    await alone(page);
    await page.getByText('an answer may not have reached Claude').first().scrollIntoViewIfNeeded();
  },
  'unsettled-stage': (page, { approval }) => stage(page, approval),
  'unsettled-inbox': open('/inbox'),
};

/** Interrupts a turn behind which messages wait, and loses an answer on its way. */
async function spoil(origin: string, folder: string, { running, approval }: Scene): Promise<void> {
  const api = apiOf(origin);
  const attachments = [{ name: 'the page.png', mediaType: 'image/png', dataBase64: DOT.toString('base64') }];
  await api.post(`/api/sessions/${running}/message`, { message: 'Then the tests' });
  await api.post(`/api/sessions/${running}/message`, { message: 'It has to look like this', attachments });
  await api.post(`/api/sessions/${running}/interrupt`);
  const { pending } = await api.get(`/api/sessions/${approval}/pending`);
  const pid = await claudePidOf(folder, approval);
  process.kill(pid, 'SIGSTOP'); // so it reads no more
  await api.post(`/api/sessions/${approval}/approve`, { requestId: pending[0]?.requestId, decision: 'allow' });
  process.kill(pid, 'SIGKILL');
}

/** What needs no session of its own. */
const EARLY = ['empty', 'crowd', 'crowd-lanes', 'crowd-graph', 'crowd-table', 'crowd-sessions'];

/** A board of 66 stages on a busy day, and its sessions. */
async function manyStages(page: Page): Promise<void> {
  await showManyStages(page);
  await everyWay(page, 'crowd', async () => {
    await open('/')(page);
    await alone(page);
  });
  await everyWay(page, 'crowd-lanes', async () => {
    await open('/?view=lanes')(page);
    await alone(page);
  });
  const graph = async () => {
    await open('/?view=graph')(page);
    await alone(page);
    await page.getByRole('region', { name: 'Graph of dependencies' }).getByRole('link').first().waitFor();
  };
  await everyWay(page, 'crowd-graph', async () => {
    await graph();
    await page.keyboard.press('j');
  });
  await everyWay(page, 'crowd-table', async () => {
    await graph();
    const table = page.getByRole('button', { name: /^Table of/ });
    if ((await table.getAttribute('aria-expanded')) === 'false') await table.click();
  });
  await everyWay(page, 'crowd-sessions', async () => {
    await open('/?view=list')(page);
    await alone(page);
  });
  await page.unroute('**/api/board');
}

/** A board whose disk counts as nearly full, and what whoever is not logged in sees. */
async function others(page: Page): Promise<void> {
  const { start } = await install({ CALLBOARD_DISK_RESERVE_MB: '999999' }, atEnd);
  const { loginLink, stop } = await start();
  atEnd(stop);
  await page.goto(loginLink);
  await page.getByText('The disk is nearly full').waitFor();
  await everyWay(page, 'disk-low', () => open('/')(page));
  await page.context().clearCookies();
  await everyWay(page, 'logged-out', async () => void (await page.goto(new URL('/', page.url()).href)));
}

async function stage(page: Page, stageId: string): Promise<void> {
  await open(`/stages/${stageId}`)(page);
  await alone(page);
}

async function tab(page: Page, stageId: string, name: string): Promise<void> {
  await stage(page, `${stageId}?tab=${name}`);
}

async function asking(page: Page, stageId: string): Promise<void> {
  await stage(page, stageId);
  await page.getByRole('form').first().waitFor();
}

async function everyWay(page: Page, name: string, show: () => Promise<void>): Promise<void> {
  if (!isWanted(name)) return;
  for (const [width, size] of Object.entries(SIZES)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await show();
      await page.waitForTimeout(700); // until what was drawn can be pressed
      const isTooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      if (isTooWide) throw new Error(`${name} is wider than the screen: ${width}`);
      await page.screenshot({ path: join(resolve(String(target)), `${name}-${width}-${colorScheme}.png`) });
    }
  }
}

try {
  await mkdir(resolve(target), { recursive: true });
  const { start, model, repo, folder } = await install({}, atEnd);
  const format = { matcher: 'Edit|Write', hooks: [{ type: 'command', command: 'npm run format' }] };
  await mkdir(join(repo, '.claude'));
  await writeFile(join(repo, '.claude', 'settings.json'), JSON.stringify({ hooks: { PostToolUse: [format] } }));
  const { loginLink, origin, stop } = await start();
  atEnd(stop);
  atEnd(closeBrowsers);
  const { page, errors } = await openBrowser({}, atEnd);
  await page.goto(loginLink);
  await page.getByRole('heading', { name: 'Board' }).waitFor();
  await everyWay(page, 'empty', () => open('/')(page));
  await manyStages(page);
  if (wanted.length === 0 || wanted.some((name) => !EARLY.includes(name))) {
    const scene = await makeScene(origin, model);
    for (const [name, check] of Object.entries(PICTURES)) await everyWay(page, name, () => check(page, scene));
    if (Object.keys(LAST).some(isWanted)) {
      await spoil(origin, folder, scene);
      for (const [name, check] of Object.entries(LAST)) await everyWay(page, name, () => check(page, scene));
      if (isWanted('unsettled-inbox')) await page.getByText('It is not known').first().waitFor();
    }
    // Pictures show a start that fails, a refusal, and requests of stages that the server does not know.
    const unexpected = errors.filter((text) => !/503|409|404.*\/(drafts|rule-offer)\b/.test(text));
    if (unexpected.length > 0) throw new Error(`the pages wrote errors: ${unexpected.join('\n')}`);
    if (isWanted('connection-lost')) {
      await PICTURES.board?.(page, scene);
      await stop();
      await everyWay(page, 'connection-lost', () => page.getByText('Connection lost').waitFor());
    }
  }
  if (isWanted('disk-low') || isWanted('logged-out')) await others(page);
} finally {
  for (const end of ends) await end();
}
