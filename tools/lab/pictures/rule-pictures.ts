import type { BoardView, StageView } from '@callboard/contract';
import type { Page } from 'playwright-core';
import { openAlone, openPage } from './open-alone.ts';

type Show = (tab?: string) => Promise<void>;

const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
const BOARD = '**/api/board';
const RETRY = '**/allow-and-retry';
const WHY_NOT =
  'A deny rule overrides every allow rule. Remove Bash(npm publish *) from your own settings of Claude Code (~/.claude/settings.json), then tell Claude to try again.';

/** Rules of every kind, used and unused, in the scene's project. */
function rulesOf({ projects, stages }: BoardView) {
  const [project] = projects;
  const stage = stages.find(({ title }) => title === 'Dark mode');
  const use = (asked: string, hours: number) => ({ stageId: stage?.id, entry: 2, asked, at: ago(hours) });
  const rule = (rule: string, fields: object) => ({
    ruleId: rule,
    scope: 'project',
    projectId: project?.id,
    stageId: null,
    kind: 'allow',
    rule,
    by: 'Ada',
    createdAt: ago(50),
    expiresAt: null,
    endedAt: null,
    endedBy: null,
    uses: 0,
    lastUsedAt: null,
    usedFor: [],
    lastUses: [],
    ...fields,
  });
  const uses = [use('Bash npm run build', 0.2), use('Bash npm run lint', 3), use('Bash npm run build', 20)];
  return {
    rules: [
      rule('Bash(npm run *)', {
        uses: 14,
        lastUsedAt: ago(0.2),
        lastUses: uses,
        usedFor: [
          { asked: 'Bash npm run build', count: 11 },
          { asked: 'Bash npm run lint', count: 3 },
        ],
      }),
      rule('Edit(src/**)', { scope: 'stage', stageId: stage?.id, expiresAt: ago(-1) }),
      rule('registry.example', { kind: 'host', uses: null, by: 'Grace' }),
      rule('/srv/designs/of-a-long-name/with-a-deep/path/to/the-folder-that-claude-may-read', {
        kind: 'directory',
        uses: null,
      }),
    ],
    ended: [rule('Bash(git push *)', { endedAt: ago(5), endedBy: 'Grace' })],
  };
}

/** Shows a page on which the stage "Dark mode" stands for a call that Claude Code denied. */
async function withDenial(page: Page, whyNot: string | null, check: () => Promise<void>): Promise<void> {
  await page.route(BOARD, async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    const stage = view.stages.find(({ title }) => title === 'Dark mode');
    if (stage?.session != null) Object.assign(stage, denied(stage));
    await route.fulfill({ response, json: view }).catch(() => undefined);
  });
  const rules = whyNot === null ? ['Bash(npm publish)'] : [];
  await page.route(RETRY, (route) => route.fulfill({ json: { retry: { rules, whyNot } } }).catch(() => undefined));
  await check();
  await page.waitForTimeout(1_000);
  await page.unroute(RETRY);
  await page.unroute(BOARD);
}

function denied({ session }: StageView): object {
  const at = ago(0.1);
  const openDenial = { source: 'mode', detail: 'dontAsk', asked: 'Bash npm publish', at, requestId: 'denied:t1' };
  const lastTurn = { outcome: 'succeeded', at, message: null, code: null };
  return { column: 'needs-you', session: { ...session, state: 'idle', stateSince: at, lastTurn, openDenial } };
}

async function inbox(page: Page): Promise<void> {
  await openAlone(page, '/inbox');
  await page.getByRole('main').getByText('Dark mode').first().click();
}

/** Shows a command that names the hosts it needs. */
async function withHosts(page: Page): Promise<void> {
  await page.route(BOARD, async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    const pending = view.pending.filter(({ toolName }) => toolName === 'Bash').slice(0, 1);
    for (const one of pending) Object.assign(one, { input: { command: 'npm ci' }, hosts: ['packages.example'] });
    await route.fulfill({ response, json: { ...view, pending } }).catch(() => undefined);
  });
  await openPage(page, '/');
  await page.getByLabel(/^Let it reach/).check();
  await page.getByRole('button', { name: 'Allow with network' }).waitFor();
  await page.waitForTimeout(1_000);
  await page.unroute(BOARD);
}

/** The rules of all projects, and calls that Claude Code denied, by the name of the picture. */
export const rulePictures: Record<string, (page: Page, show: Show) => Promise<void>> = {
  'rules-page': async (page) => {
    let seen: (view: BoardView) => void = () => undefined;
    const board = new Promise<BoardView>((resolve) => {
      seen = resolve;
    });
    await page.route(BOARD, async (route) => {
      const response = await route.fetch();
      seen(await response.json());
      await route.fulfill({ response });
    });
    await page.route('**/api/rules', async (route) => route.fulfill({ json: rulesOf(await board) }));
    await openAlone(page, '/rules');
    await page.getByText(/^Used 14 times/).click();
    await page.waitForTimeout(500);
    await page.unroute('**/api/rules');
    await page.unroute(BOARD);
  },
  hosts: withHosts,
  'denial-board': (page) => withDenial(page, null, () => openAlone(page, '/')),
  'denial-board-why': (page) => withDenial(page, WHY_NOT, () => openAlone(page, '/')),
  'denial-stage': (page, show) => withDenial(page, null, () => show()),
  'denial-stage-why': (page, show) => withDenial(page, WHY_NOT, () => show()),
  'denial-inbox': (page) => withDenial(page, null, () => inbox(page)),
  'denial-inbox-why': (page) => withDenial(page, WHY_NOT, () => inbox(page)),
};
