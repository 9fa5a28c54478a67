import type { BoardView, StageView, TurnOutcome, WorktreeCommand } from '@callboard/contract';
import type { Page } from 'playwright-core';

type Show = (tab?: string) => Promise<void>;

const AT = '2026-11-23T11:00:00.000Z';
const OUTPUT = [
  '\u001b[1m$ npm ci\u001b[0m',
  'npm warn deprecated inflight@1.0.6: This module is not supported',
  'npm error code E404',
  'npm error 404 Not Found - GET https://registry.example.com/left-padd - Not found',
  "npm error 404  'left-padd@^1.3.0' could not be found.",
  '',
].join('\n');

/** Shows one stage of the scene with this before its start, and what ran in its worktree. */
function lookOf(
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
  ...{ id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', stageId: /stages\/([^/]+)/.exec(url)?.[1] ?? '' },
  ...{ kind: 'setup', name: 'setup', command: 'npm ci', attempt: 1, state: 'failed', exitCode: 1 },
  ...{ reason: 'It ended with exit code 1.', isolation: { level: 'sandbox', reason: null }, by: null },
  ...{ startedAt: AT, endedAt: AT, port: null, ...fields },
});

/** The stage's details with a server that runs, one that does not, and a set-up that is done. */
async function servers(page: Page, show: Show): Promise<void> {
  await answerRuns(page, { state: 'passed', exitCode: 0, reason: null });
  await show('details');
  await page.getByRole('button', { name: 'Show output of web' }).click();
}

/** What happens before Claude starts in a worktree, and what runs there, by the name of its picture. */
export const workspacePictures: Record<string, (page: Page, show: Show) => Promise<void>> = {
  'set-up-running': lookOf('starting', null, '', { state: 'running', exitCode: null, reason: null, endedAt: null }),
  'set-up-failed': lookOf('failed', 'setup-failed', 'x', {}),
  'set-up-not-agreed': lookOf('failed', 'settings-not-agreed', 'x', {}),
  'set-up-no-fetch': lookOf(
    'failed',
    'fetch-failed',
    'The stage was not started, because nothing could be fetched first. git fetch origin failed:\nssh: Could not resolve hostname git.example.com: Name or service not known',
    {},
  ),
  servers,
};
