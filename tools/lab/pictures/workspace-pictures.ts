import type { BoardView, StageView, TurnOutcome, WorktreeCommand } from '@callboard/contract';
import type { Page } from 'playwright-core';
import { openAlone } from './open-alone.ts';

type Show = (tab?: string) => Promise<void>;

const AT = '2026-11-23T11:00:00.000Z';
const OUTPUT = [
  '\u001b[1m$ npm ci\u001b[0m',
  'npm warn deprecated inflight@1.0.6: This module is not supported',
  'npm error code E404',
  'npm error 404 Not Found - left-padd',
  "npm error 404  'left-padd@^1.3.0' could not be found.",
  '',
].join('\n');

/** Shows one stage of the scene with this before its start, and what ran in its worktree. */
function appearanceOf(
  state: 'starting' | 'failed',
  code: TurnOutcome['code'],
  message: string,
  fields: Partial<WorktreeCommand>,
) {
  return async (page: Page, show: Show): Promise<void> => {
    await page.route('**/api/board', async (route) => {
      const response = await route.fetch();
      const view: BoardView = await response.json();
      for (const stage of view.stages) if (stage.title === 'Dark mode') change(stage);
      await route.fulfill({ response, json: view }).catch(() => undefined);
    });
    const change = (stage: StageView): void => {
      const lastTurn = { outcome: 'failed', at: AT, message, code };
      Object.assign(stage, { setup: 'due', column: 'needs-you' });
      Object.assign(stage.session ?? {}, { state, lastTurn });
    };
    await answerRuns(page, fields);
    await show();
    await page.locator('#set-up').waitFor();
    await page.waitForTimeout(500);
    await page.unroute('**/api/board');
  };
}

const RUNNING = { kind: 'server', state: 'running', exitCode: null, reason: null, endedAt: null } as const;

async function answerRuns(page: Page, fields: Partial<WorktreeCommand>): Promise<void> {
  await page.unroute('**/commands');
  await page.unroute('**/servers');
  await page.unroute('**/output*');
  await page.route('**/commands', (route) =>
    route.fulfill({ json: { commands: [run(route.request().url(), fields)] } }),
  );
  await page.route('**/servers', (route) => {
    const web = run(route.request().url(), { ...RUNNING, name: 'web', command: 'npm run dev', port: 21_340 });
    const servers = [
      { name: 'web', command: 'npm run dev', run: web },
      { name: 'api', command: 'npm run api', run: null },
    ];
    return route.fulfill({ json: { servers } });
  });
  await page.route('**/output*', (route) => {
    const after = Number(new URL(route.request().url()).searchParams.get('after') ?? 0);
    const [to, output] = [OUTPUT.length, after === 0 ? OUTPUT : ''];
    return route.fulfill({ json: { output, from: after, to, total: to, isCut: false } });
  });
}

const run = (url: string, fields: Partial<WorktreeCommand>) => ({
  id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
  stageId: /stages\/([^/]+)/.exec(url)?.[1] ?? '',
  kind: 'setup',
  name: 'setup',
  command: 'npm ci',
  attempt: 1,
  state: 'failed',
  exitCode: 1,
  reason: 'It ended with exit code 1.',
  isolation: { level: 'sandbox', reason: null },
  by: null,
  startedAt: AT,
  endedAt: AT,
  port: null,
  ...fields,
});

/** The stage's details with a server that runs, one that does not, and a set-up that is done. */
async function servers(page: Page, show: Show): Promise<void> {
  await answerRuns(page, { state: 'passed', exitCode: 0, reason: null });
  await show('details');
  await page.getByRole('button', { name: 'Show output of web' }).click();
}

const GB = 1_073_741_824;
const worktree = (stage: string, title: string | null, bytes: number, stays: string | null) => ({
  name: stage,
  path: `/home/ada/.callboard/worktrees/shop/${stage}`,
  stageId: title === null ? null : stage,
  stageTitle: title,
  bytes: Math.round(bytes),
  measuredAt: new Date().toISOString(),
  stays,
});
const WORK = { branch: 'callboard/STAGE-3', uncommitted: 3, unmerged: 2 };
const FILES = {
  files: [
    { path: '.env', bytes: 212 },
    { path: 'notes/plan.md', bytes: 8_120 },
  ],
  fileCount: 2,
  bytes: 8_332,
};

/** The worktrees in the settings of a project. */
async function worktrees(page: Page): Promise<void> {
  await page.route('**/worktrees', (route) =>
    route.fulfill({
      json: {
        isMeasuring: false,
        worktrees: [
          worktree('STAGE-1', 'Login form', 1.2 * GB, 'STAGE-1 has a running session.'),
          worktree('STAGE-3', 'Dark mode', 0.8 * GB, null),
          worktree('STAGE-7', null, 0.3 * GB, null),
        ],
      },
    }),
  );
  await page.route('**/clean-up', (route) =>
    route.fulfill({
      json: {
        cleanUp: {
          path: '/home/ada/.callboard/worktrees/shop/STAGE-3',
          left: null,
          work: WORK,
          ...FILES,
          buildFolders: [{ path: 'node_modules', bytes: 812_345_678 }],
        },
      },
    }),
  );
  await openAlone(page, '/');
  await page.getByRole('button', { name: 'Projects' }).click();
  await page.getByRole('menuitem', { name: 'shop' }).click();
  await page.getByRole('list', { name: 'Worktrees' }).scrollIntoViewIfNeeded();
}

async function cleanUp(page: Page): Promise<void> {
  await worktrees(page);
  await page.getByRole('button', { name: 'Clean up Dark mode' }).click();
  await page.getByText('node_modules').waitFor();
}

async function trash(page: Page): Promise<void> {
  const [at, expiresAt] = [0, 29].map((days) => new Date(Date.now() + days * 86_400_000).toISOString());
  const work = { ref: 'refs/callboard/trash/STAGE-3/now', commit: '3f2a1c0'.padEnd(40, '0'), ...WORK };
  const entry = {
    id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
    projectId: 'shop',
    projectName: 'shop',
    stageId: 'STAGE-3',
    stageTitle: 'Dark mode',
    by: 'Ada',
    at,
    expiresAt,
    ...FILES,
    work,
    worktree: null,
  };
  await page.route('**/api/trash', (route) => route.fulfill({ json: { entries: [entry] } }));
  await openAlone(page, '/trash');
  await page.getByRole('list', { name: 'Trash' }).waitFor();
}

const IN_TERMINAL = { since: '2026-11-23T14:05:00.000Z', by: 'Ada' };

/** The stage while its conversation is in a terminal, with a message that waits. */
async function inTerminal(page: Page, show: Show): Promise<void> {
  await page.route('**/api/board', async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    for (const stage of view.stages) {
      if (stage.title !== 'Dark mode' || stage.session === null) continue;
      Object.assign(stage, { column: 'running' });
      Object.assign(stage.session, { state: 'ended', launchId: null, terminal: IN_TERMINAL, queued: 1 });
    }
    await route.fulfill({ response, json: view }).catch(() => undefined);
  });
  await show();
  await page.getByRole('button', { name: 'Take back' }).waitFor();
  await page.waitForTimeout(400);
  await page.unroute('**/api/board');
}

async function askForTerminal(page: Page, show: Show): Promise<void> {
  await show();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Continue in a terminal' }).click();
  await page.getByRole('button', { name: 'End process and copy command' }).waitFor();
  await page.waitForTimeout(400);
}

async function terminalCommand(page: Page, show: Show): Promise<void> {
  const command =
    'cd /home/ada/.callboard/worktrees/shop/STAGE-3 && claude --resume 24796da1-60bd-44a0-8d5b-3f1c2b9a7e10';
  await page.route('**/terminal', (route) => route.fulfill({ json: { command, terminal: IN_TERMINAL } }));
  await askForTerminal(page, show);
  await page.getByRole('button', { name: 'End process and copy command' }).click();
  await page.getByText(command).waitFor();
  await page.unroute('**/terminal');
}

/** What happens before Claude starts in a worktree, and what runs there, by the name of its picture. */
export const workspacePictures: Record<string, (page: Page, show: Show) => Promise<void>> = {
  'set-up-running': appearanceOf('starting', null, '', {
    state: 'running',
    exitCode: null,
    reason: null,
    endedAt: null,
  }),
  'set-up-failed': appearanceOf('failed', 'setup-failed', 'x', {}),
  'set-up-not-agreed': appearanceOf('failed', 'settings-not-agreed', 'x', {}),
  'set-up-no-fetch': appearanceOf(
    'failed',
    'fetch-failed',
    'The stage was not started, because nothing could be fetched first. git fetch origin failed:\nssh: Could not resolve hostname git.example.com: Name or service not known',
    {},
  ),
  servers,
  worktrees,
  'worktree-clean-up': cleanUp,
  'trash-work': trash,
  'in-terminal': inTerminal,
  'terminal-ask': askForTerminal,
  'terminal-command': terminalCommand,
};
