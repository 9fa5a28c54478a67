import { type BoardView, boardView, ISOLATION_UNKNOWN, Later, type PendingRequest, Project } from '@callboard/contract';
import { sampleRequest, sampleSession, sampleStage } from '@callboard/contract/samples';
import type { Page } from 'playwright-core';

const MINUTE = 60_000;
const SHA = '3f2a1c9d0b8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a';

const TITLES = [
  ...[
    'Login form',
    'Search index',
    'Dark mode',
    'Rate limits',
    'Refunds',
    'Emails',
    'Pictures',
    'Webhooks',
    'Audit log',
  ],
  ...['Structured logs', 'DNS in code', 'Old theme', 'Auth API', 'Order history', 'Nightly export', 'Health checks'],
  ...[
    'Invoices as PDF',
    'Retry failed jobs, each time a little later',
    'Address book',
    'Cart keeps its items until the next visit',
    'Feature flags',
    'Upgrade to Node 26',
  ],
];
const PROJECTS = ['storefront', 'atlas', 'billing', 'infra'];

const GROUPS = ['Checkout', 'Search', 'Sign-in', 'Checkout', null];

const TEXTS = [
  'The index is built from the titles of all pages, and it is rebuilt when one of them changes',
  'Next I move the check into the service, where the tests can reach it',
];

/** What the running ones do, one after the other. */
const NOWS = (since: string) => [
  { kind: 'writing', text: TEXTS[0] },
  { kind: 'tool', toolUseId: 'u1', action: 'npm test -- --run search', isCommand: true, since },
  { kind: 'thinking', since },
  { kind: 'tool', toolUseId: 'u1', action: 'Edit src/routes/checkout/payment.ts', isCommand: false, since },
  { kind: 'preparing', toolName: 'Write' },
  { kind: 'writing', text: TEXTS[1] },
];

const ASKED = [
  { toolName: 'Bash', input: { command: 'npm install left-pad' }, stakes: ['installs', 'network'] },
  { toolName: 'Edit', input: { file_path: 'src/login.ts', old_string: 'a', new_string: 'b' }, stakes: [] },
  { toolName: 'Bash', input: { command: 'git push origin main' }, stakes: ['git-remote'] },
  { kind: 'question', toolName: 'AskUserQuestion', input: { questions: [{}, {}, {}, {}] }, stakes: [] },
];

const SHARES = { backlog: 10, ready: 9, running: 14, 'needs-you': 9, review: 11, done: 13 };
export const CROWD = Object.values(SHARES).reduce((sum, share) => sum + share, 0);

type Part = Parameters<typeof boardView>[0]['stages'][number];

/** The board of a team on a busy day: 66 stages in all columns, as a real one looks; `times` as many. */
function manyStagesOf(view: BoardView, now: Date, times = 1): BoardView {
  const at = (minutesAgo: number) => new Date(now.getTime() - minutesAgo * MINUTE).toISOString();
  const pending: PendingRequest[] = [];
  const stages: Part[] = [];
  for (const [column, share] of Object.entries(SHARES)) {
    for (let index = 0; index < share * times; index += 1) {
      const made = stageIn(column, index, stages.length + 1, at);
      stages.push(made.part);
      if (made.asks !== null) pending.push(made.asks);
    }
  }
  const projects = PROJECTS.map((name) => Project.parse({ ...view.projects[0], id: name, name }));
  return boardView({ ...view, projects, stages, pending, unsettled: [] });
}

function stageIn(column: string, index: number, number: number, at: (minutesAgo: number) => string) {
  const id = `STAGE-${number}`;
  const createdAt = at(3_000);
  const waited = [0.4, 3, 4, 12, 26, 55, 130, 400, 1_500][index % 9] ?? 1;
  const stage = sampleStage({
    id,
    projectId: PROJECTS[(number * 7) % 4],
    title: titleOf(number),
    createdAt,
    updatedAt: createdAt,
    priority: [2, 2, 1, 2, 2, 0, 2, 3][number % 8],
    held: column === 'backlog' && index % 3 === 0,
    dependsOn: neededBy(column, index, number),
    group: GROUPS[number % GROUPS.length],
    autoStart: column === 'ready' && index % 4 === 1,
    pipeline: column === 'running' && index % 4 === 2 ? ['Design', 'Build', 'Verify'].map(phase) : [],
    completedAt: column === 'done' ? at(waited) : null,
    merged: column === 'done' && index % 3 !== 1 ? merge(at(waited)) : null,
  });
  const since = at(waited);
  const base = { stageId: id, stateSince: since, startedAt: createdAt, launchId: null, isolation: ISOLATION_UNKNOWN };
  const figures = {
    ...base,
    costUsd: 0.2 + (number % 9) / 7,
    contextUsage: { usedTokens: 60_000, maxTokens: 200_000, percentage: 12 + ((number * 7) % 60) },
  };
  const doing = { ...figures, state: 'busy', phaseIndex: 1, now: NOWS(at(0.7 + index / 3))[index % 6] };
  const asking = ASKED[index % 4];
  const turn = { outcome: index % 5 === 4 ? 'failed' : 'succeeded', at: since, message: null };
  const sessions: Record<string, object | null> = {
    backlog: null,
    ready: null,
    running: { ...doing, queued: index % 5 === 1 ? 2 : 0 },
    'needs-you': index % 5 === 4 ? { ...figures, state: 'idle', lastTurn: turn } : { ...figures, state: 'waiting' },
    review: { ...figures, state: 'idle', lastTurn: { ...turn, outcome: 'succeeded' }, changes: changes(number) },
    done: { ...figures, state: 'ended', lastTurn: { ...turn, outcome: 'succeeded' }, changes: changes(number) },
  };
  const session = sessions[column] ?? null;
  const asks =
    column !== 'needs-you' || index % 5 === 4 || asking === undefined
      ? null
      : sampleRequest({
          kind: 'approval',
          ...asking,
          stageId: id,
          requestId: `r${number}`,
          createdAt: since,
          stakes: asking.stakes.map((code) => ({ code, text: code })),
        });
  return { part: { ...stage, session: session === null ? null : sampleSession({ ...session }) }, asks };
}

/** What waits, waits for something that runs, and often for its neighbour too; what runs, comes after something done. */
function neededBy(column: string, index: number, number: number): string[] {
  if (column === 'backlog')
    return index % 3 === 0 ? [] : [`STAGE-${number + 20}`, ...(index % 3 === 2 ? [`STAGE-${number - 1}`] : [])];
  return column !== 'ready' && column !== 'done' && index % 3 !== 2 ? [`STAGE-${54 + ((number * 5) % 13)}`] : [];
}

const titleOf = (number: number) => TITLES[(number * 5) % TITLES.length] ?? '';
const phase = (name: string) => ({ name, prompt: `${name} it.`, gate: 'none' });
const changes = (number: number) => ({
  files: 1 + (number % 9),
  additions: 12 * (number % 20),
  deletions: 4 * (number % 11),
});

const merge = (at: string) => ({
  commit: SHA,
  into: 'main',
  branch: 'callboard/x',
  head: SHA,
  previous: SHA,
  commits: 1,
  files: 3,
  at,
});

/** Has the page show a crowd, whatever is in its store. */
export async function showManyStages(page: Page, times = 1): Promise<void> {
  const later: BoardView['me']['later'] = [];
  await page.route('**/api/board', async (route) => {
    // The page asks again when the test is over and the server has stopped.
    const response = await route.fetch().catch(() => null);
    if (response === null) return route.abort().catch(() => undefined);
    const view: BoardView = await response.json();
    const me = { ...view.me, later: [...view.me.later, ...later] };
    await route.fulfill({ response, json: manyStagesOf({ ...view, me }, new Date(), times) });
  });
  await page.route('**/api/pending/*/later', (route) => {
    const requestId = route.request().url().split('/').at(-2);
    const put = Later.parse({ ...route.request().postDataJSON(), requestId, until: null });
    later.push(put);
    return route.fulfill({ json: { later: put } });
  });
}
