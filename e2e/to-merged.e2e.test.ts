import { join } from 'node:path';
import type { StageView, TranscriptEntry } from '@callboard/contract';
import { named, prompt } from '@callboard/scripted-model';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { git } from '../test-support/git.ts';
import { until } from '../test-support/until.ts';
import { callApi } from './support/api.ts';
import { openBrowser } from './support/browser.ts';
import { type Installation, install, type Running } from './support/callboard.ts';
import { killAll, killPart, partPid, processesOf } from './support/processes.ts';
import { apiOf } from './support/scene.ts';

type Api = ReturnType<typeof apiOf>;

const STAGES = 12;
/** What each stage has to do: nothing but its work, mend what a check finds twice, or wait for a person. */
const KINDS = ['mends', 'asks', 'just-does', 'just-does'] as const;
const kindOf = (n: number) => (n === 2 ? 'is-reviewed' : KINDS[n % KINDS.length]);
const REVIEWED = 'STAGE-3';
const fileOf = (id: string) => `${id.toLowerCase()}.txt`;
const LINES = 'one\ntwo\nthree\nfour\n';

/** Twelve stages that work in their own file, three of them at once. */
async function createStages({ dataDir }: Installation, api: Api): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < STAGES; n++) {
    const id = `STAGE-${n + 1}`;
    const write = (file: string, content: string) => ({
      name: 'Write',
      input: { file_path: join(dataDir, 'worktrees', 'shop', id, file), content },
    });
    const work = prompt({ steps: [{ tools: [write(fileOf(id), LINES)] }, { text: 'Built.' }] });
    const mend = (file: string) => prompt({ steps: [{ tools: [write(file, 'mended\n')] }, { text: 'Mended.' }] });
    const command = ['a', 'b']
      .map((name) => `test -e ${id}-${name} || { echo '${mend(`${id}-${name}`)}'; exit 1; }`)
      .join('\n');
    const build = (gate: unknown) => ({ name: 'Build', prompt: work, gate });
    const check = { check: { command: `sleep 0.3; ${command}`, message: 'Mend it: {{check.output}}' } };
    const speak = (name: string, gate: string) => ({
      name,
      prompt: prompt({ steps: [{ text: `${name} is done.` }] }),
      gate,
    });
    const pipeline = {
      mends: [build(check)],
      asks: [speak('Plan', 'human'), build('none')],
      'is-reviewed': [build('human'), speak('Verify', 'none')],
      'just-does': [build('none')],
    }[kindOf(n) ?? 'just-does'];
    const { stage } = await api.post('/api/stages', {
      projectId: 'shop',
      title: `Work ${id}`,
      prompt: 'A task.',
      permissionMode: 'acceptEdits',
      autoStart: true,
      pipeline,
      dependsOn: n < 3 ? [] : [ids[n - 3]],
    });
    expect(stage.id).toBe(id);
    ids.push(id);
  }
  return ids;
}

/** Comments on three lines of a stage at its gate, has Claude answer, and leaves the stage at its gate. */
async function review(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/stages/${REVIEWED}?tab=changes`);
  const list = page.getByRole('region', { name: 'Changed files' });
  const texts = [named('answer', 'Why one?'), 'Why two?', 'Why three?'];
  for (const [index, text] of texts.entries()) {
    await list.getByRole('button', { name: `Comment on line ${index + 1}`, exact: true }).click();
    await page.getByRole('textbox', { name: `Comment on line ${index + 1}` }).fill(text);
    await page.keyboard.press('Control+Enter');
    await list.getByRole('article').filter({ hasText: text }).waitFor();
  }
  await page.getByRole('button', { name: 'Ask for changes (3 comments)' }).click();
  await expect.poll(() => list.getByText('Claude replied', { exact: true }).count()).toBe(3);
}

/** Does what a person does in the browser: looks at the changes, and starts what waits at a gate. */
async function answerGate(page: Page, origin: string, stage: StageView): Promise<void> {
  if (stage.id === REVIEWED) await review(page, origin);
  else await page.goto(`${origin}/stages/${stage.id}`);
  await page.getByRole('button', { name: /^Start (Build|Verify)$/ }).click();
  await page.getByRole('button', { name: /^Start (Build|Verify)$/ }).waitFor({ state: 'detached' });
}

const isAtGate = ({ column, session }: StageView) =>
  column === 'needs-you' && session?.atGate === true && session.check === null;

/** Kills everything of Callboard, but not what it started. */
async function killCallboard({ supervisor }: Running): Promise<void> {
  const parts = ['supervisor', 'orchestrator', 'web server'] as const;
  const pids = await Promise.all(parts.map((part) => partPid(supervisor.pid ?? -1, part)));
  killAll(new Set(pids.filter((pid) => pid !== null)));
}

it('runs twelve stages with checks, gates and a review to merged, through two kills', {
  timeout: 600_000,
}, async () => {
  const installation = await install({ CALLBOARD_MAX_PARALLEL: '3' });
  const { folder, repo, model, start, command } = installation;
  let running = await start();
  const { page, errors } = await openBrowser();
  let api = apiOf(running.origin);
  model.setScript('answer', { steps: [{ text: 'Because it counts.' }] });
  const first = await git(repo, 'rev-parse', 'HEAD');
  await api.patch('/api/projects/shop', { settings: { finish: 'merge' } });
  await page.goto(running.loginLink);
  const ids = await createStages(installation, api);

  let most = 0;
  let seen: unknown;
  const answered: string[] = [];
  const stages = async (): Promise<StageView[]> => {
    const { stages } = await api.get('/api/board');
    const working = stages.filter(({ session }: StageView) => ['busy', 'starting'].includes(session?.state ?? ''));
    most = Math.max(most, working.length);
    seen = stages
      .filter(({ merged }: StageView) => merged === null)
      .map(({ id, column, session, finishing }: StageView) => [
        id,
        column,
        session?.lastTurn?.message,
        finishing?.problem?.message,
      ]);
    return stages;
  };
  /** Answers gates until this holds. */
  const exposure = (what: string, fits: (stages: StageView[]) => boolean) =>
    until(
      what,
      async () => {
        const now = await stages();
        if (fits(now)) return true;
        const waiting = now.find(isAtGate);
        if (waiting !== undefined) {
          await answerGate(page, running.origin, waiting);
          answered.push(waiting.id);
        }
        return false;
      },
      { withinMs: 240_000, everyMs: 100, lastSeen: () => seen }, // twelve stages, three at a time, on a busy machine
    );

  await exposure('a check runs', (all) => all.some(({ session }) => session?.check?.state === 'running'));
  await killPart(running.supervisor.pid, 'orchestrator'); // it is started again
  await until('Callboard is back', async () => (await callApi(running.origin, 'GET', '/api/board')).ok);
  await exposure('a check has failed', (all) => all.some(({ session }) => (session?.check?.failures ?? 0) > 0));
  await killCallboard(running);
  running = await start();
  onTestFinished(running.stop);
  api = apiOf(running.origin);
  await page.goto(running.loginLink);
  await exposure('all is merged', (all) => all.length === STAGES && all.every(({ merged }) => merged !== null));

  // Every check, message, gate and comment counts once.
  for (const [n, id] of ids.entries()) {
    const isRepaired = kindOf(n) === 'mends';
    expect([id, await checksOf(api, id)]).toEqual([
      id,
      isRepaired ? { results: ['failed', 'failed', 'passed'], told: 2 } : { results: [], told: 0 },
    ]);
  }
  expect(answered.toSorted()).toEqual(
    ids.filter((_, n) => ['asks', 'is-reviewed'].includes(kindOf(n) ?? '')).toSorted(),
  );
  expect(most).toBeLessThanOrEqual(4); // one that worked while Callboard was killed goes on
  const { comments } = await api.get(`/api/stages/${REVIEWED}/comments`);
  expect(comments.map(({ state }: { state: string }) => state)).toEqual(['answered', 'answered', 'answered']);

  // Every commit of main is the work of a stage or its merge, and the main checkout is clean.
  const merges = (await stages()).map(({ merged }) => merged?.commit ?? '');
  const commits = (await git(repo, 'rev-list', `${first}..main`)).split('\n');
  const work = (await git(repo, 'rev-list', '--no-merges', `${first}..main`)).split('\n');
  expect(new Set(merges).size).toBe(STAGES);
  expect(work).toHaveLength(STAGES);
  expect(new Set([...merges, ...work])).toEqual(new Set(commits));
  for (const id of ids) expect(await git(repo, 'show', `main:${fileOf(id)}`)).toBe(LINES.trim());
  expect(await git(repo, 'status', '--porcelain')).toBe('');
  expect(await git(repo, 'symbolic-ref', '--short', 'HEAD')).toBe('main');

  await page.goto(running.origin);
  await page.getByRole('region', { name: 'Done' }).getByRole('link', { name: 'Work STAGE-12' }).waitFor();
  expect(errors.filter((error) => !/Failed to load resource|ERR_|ChunkLoadError/.test(error))).toEqual([]); // while it was killed
  expect(await command('down')).toMatchObject({ code: 0 });
  expect(await processesOf(folder)).toEqual([]);
});

/** The results of a stage's checks, oldest first, without runs that a restart ended; and how often Claude was told of a failure. */
async function checksOf(api: Api, id: string): Promise<{ results: string[]; told: number }> {
  const { checks } = await api.get(`/api/stages/${id}/checks`);
  const { entries } = await api.get(`/api/sessions/${id}/transcript?limit=500`);
  const results = checks
    .map(({ state }: { state: string }) => state)
    .filter((state: string) => state !== 'interrupted');
  const wasReported = (entry: TranscriptEntry) => entry.kind === 'user' && entry.text.startsWith('Mend it: ');
  return { results: results.toReversed(), told: entries.filter(wasReported).length };
}
