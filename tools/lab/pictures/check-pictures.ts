import type { BoardView, CheckRun, CheckState, PhaseRun, SessionState, StageView } from '@callboard/contract';
import type { Page } from 'playwright-core';

type Show = (tab?: string) => Promise<void>;

const FROM = Date.parse('2026-11-23T11:00:00.000Z');
const at = (seconds: number): string => new Date(FROM + seconds * 1_000).toISOString();
const idOf = (n: number): string => `aaaaaaaa-aaaa-4aaa-8aaa-${String(n).padStart(12, '0')}`;
const OUTPUT = [
  '> storefront@1.4.0 test',
  '> vitest run',
  '',
  ' \u001b[31mFAIL\u001b[0m  src/pages/cart/summary.test.ts > adds the tax',
  'AssertionError: expected 119 to be 120 // Object.is equality',
  '  at src/pages/cart/summary.test.ts:14:22',
  '',
  ' Tests  1 failed | 212 passed (213)',
  '',
].join('\n');
const LONG = 'npm run lint -- --max-warnings 0 && npm run types && npm test -- --coverage --reporter=dot';

const pipeline = [
  { name: 'Plan', prompt: '{{stage.prompt}}\n\nPlan it.', gate: 'human', conversation: 'same' },
  {
    name: 'Build',
    prompt: 'Build it as planned.',
    conversation: 'fresh',
    gate: { check: { command: LONG, timeLimit: 600, attempts: 3 } },
  },
  { name: 'Verify', prompt: 'Check your own work.', gate: 'none', conversation: 'same', permissionMode: 'plan' },
];

const run = (n: number, state: CheckState, change: Partial<CheckRun> = {}): Omit<CheckRun, 'stageId'> => ({
  id: idOf(n),
  phaseIndex: 1,
  phase: 'Build',
  command: LONG,
  timeLimit: 600,
  state,
  failures: 0,
  attempts: 3,
  by: null,
  createdAt: at(n * -300),
  startedAt: at(n * -300),
  endedAt: at(n * -300 + 42),
  exitCode: null,
  reason: null,
  commandId: idOf(n),
  messageId: null,
  ...change,
});
const failed = (n: number, failures: number) =>
  run(n, 'failed', { exitCode: 1, failures, messageId: failures < 3 ? idOf(n) : null });
const restarted = run(4, 'interrupted', { reason: 'It was ended by a restart of Callboard, and is run again.' });

interface Checked {
  runs: Omit<CheckRun, 'stageId'>[];
  state?: SessionState;
  column?: StageView['column'];
  atGate?: boolean;
}

const CHECKS: Record<string, Checked> = {
  'checks-passed': { runs: [run(1, 'passed', { exitCode: 0 }), failed(2, 1)] },
  'checks-running': {
    runs: [run(1, 'running', { endedAt: null }), failed(2, 2), failed(3, 1)],
    state: 'busy',
    column: 'running',
  },
  'checks-interrupted': {
    runs: [run(1, 'waiting', { startedAt: null, endedAt: null, commandId: null }), restarted],
    state: 'busy',
    column: 'running',
  },
  'checks-out-of-attempts': {
    runs: [
      failed(1, 3),
      run(2, 'timed-out', { failures: 2, messageId: idOf(2), reason: 'It did not end within 10 minutes.' }),
      failed(3, 1),
      restarted,
    ],
    atGate: true,
    column: 'needs-you',
  },
  'checks-not-started': {
    runs: [
      run(1, 'not-started', { commandId: null, startedAt: null, reason: 'It could not be run: spawn /bin/sh ENOENT' }),
    ],
    atGate: true,
    column: 'needs-you',
  },
  'checks-none': { runs: [] },
};

/** Changes one stage of the scene, and answers for its checks and phases. */
async function answer(page: Page, { runs, state = 'idle', column = 'review', atGate = false }: Checked): Promise<void> {
  const [newest] = runs;
  await page.route('**/api/board', async (route) => {
    const response = await route.fetch();
    const view: BoardView = await response.json();
    for (const stage of view.stages) {
      if (stage.title !== 'Dark mode') continue;
      const check = newest === undefined ? null : { checkId: newest.id, ...newest, since: at(0) };
      Object.assign(stage, { pipeline, column, finish: 'merge' });
      Object.assign(stage.session ?? {}, { state, atGate, check, phaseIndex: 1 });
    }
    await route.fulfill({ response, json: view }).catch(() => undefined);
  });
  const stageOf = (url: string) => /stages\/([^/]+)/.exec(url)?.[1] ?? '';
  await page.route('**/checks', (route) =>
    route.fulfill({ json: { checks: runs.map((one) => ({ ...one, stageId: stageOf(route.request().url()) })) } }),
  );
  await page.route('**/output*', (route) =>
    route.fulfill({ json: { output: OUTPUT, from: 0, to: OUTPUT.length, total: OUTPUT.length, isCut: false } }),
  );
  await page.route('**/phases', (route) => {
    const begun = (
      phaseIndex: number,
      phase: string,
      prompt: string,
      result: string | null,
    ): Omit<PhaseRun, 'stageId'> => ({
      phaseIndex,
      phase,
      prompt,
      result,
      begunAt: at(-900),
      endedAt: result === null ? null : at(-600),
    });
    const phases = [
      begun(0, 'Plan', 'Make it dark.\n\nPlan it.', '1. Write the **tokens** of both schemes\n2. Follow the system'),
      begun(1, 'Build', 'Build it as planned.', null),
    ];
    return route.fulfill({
      json: { phases: phases.map((one) => ({ ...one, stageId: stageOf(route.request().url()) })) },
    });
  });
}

async function forget(page: Page): Promise<void> {
  for (const pattern of ['**/api/board', '**/checks', '**/phases', '**/output*']) await page.unroute(pattern);
}

/** Shows one tab of the stage with these checks. */
const appearanceOf = (checked: Checked, tab: string) => async (page: Page, show: Show) => {
  await forget(page);
  await answer(page, checked);
  await show(tab);
  await page.waitForTimeout(500);
  await page.unroute('**/phases');
  await page.unroute('**/api/board');
};

/** The checks and phases of a stage, by the name of the picture. */
export const checkPictures: Record<string, (page: Page, show: Show) => Promise<void>> = {
  ...Object.fromEntries(Object.entries(CHECKS).map(([name, checked]) => [name, appearanceOf(checked, 'checks')])),
  phases: appearanceOf({ runs: [failed(1, 1)], state: 'busy', column: 'running' }, 'phases'),
  'phases-details': appearanceOf({ runs: [failed(1, 1)] }, 'details'),
};
