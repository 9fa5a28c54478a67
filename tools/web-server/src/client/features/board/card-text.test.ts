import type { StageView } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { comingTime } from '../../lib/limit-text.ts';
import { board, decision, request, session, stage } from '../../test/samples.ts';
import { cardText } from './cards.ts';

const AT = '2026-01-01T10:00:00.000Z';
const titles: Record<string, string> = { 'STAGE-2': 'Login form', 'STAGE-3': 'Search' };
const text = (view: ReturnType<typeof board>, pending = view.pending) =>
  cardText({
    stage: view.stages[0] as StageView,
    pending,
    unsettled: view.unsettled.length,
    titleOf: (id) => titles[id],
    isDone: () => false,
    startDelay: view.startHolds[0],
  });
const one = (change = {}, summary?: Record<string, unknown>, pending = [] as ReturnType<typeof request>[]) =>
  board({
    stages: [
      { stage: stage('STAGE-1', change), ...(summary === undefined ? {} : { session: session('STAGE-1', summary) }) },
    ],
    pending,
  });

describe('a card in the backlog', () => {
  it('names the stages it waits for', () => {
    expect(text(one({ dependsOn: ['STAGE-2', 'STAGE-3'] })).text).toBe('waits for Login form and 1 more');
  });
  it('says that a stage it waits for does not exist', () => {
    expect(text(one({ dependsOn: ['STAGE-9'] })).text).toBe('waits for STAGE-9, which does not exist');
  });
  it('says when a person holds it back', () => {
    expect(text(one({ held: true })).text).toBe('On hold');
  });
});

it('says nothing that the column says already', () => {
  expect(text(one({ autoStart: false })).text).toBe('');
  expect(text(one({ autoStart: true })).text).toBe('Starts automatically');
});

it('says what keeps a stage from starting automatically', () => {
  const startDelay = { code: 'memory' as const, reason: 'Waits for memory', until: null, stageIds: [] };
  expect(text({ ...one({ autoStart: true }), startHolds: [startDelay] }).text).toBe('Waits for memory');
  expect(text({ ...one({ autoStart: false }), startHolds: [startDelay] }).text).toBe('');
  const until = new Date(Date.now() + 1_000).toISOString();
  const near = { code: 'usage-limit' as const, reason: 'Usage limit at 93 %', until, stageIds: [] };
  expect(text({ ...one({ autoStart: true }), startHolds: [near] }).text).toBe(
    `Starts after ${comingTime(until)}: usage limit at 93 %`,
  );
});

it('says when the review of a phase runs again that met a usage limit', () => {
  const at = new Date(Date.now() + 1_000).toISOString();
  const run = { runId: '11111111-1111-4111-8111-111111111111', findings: 0, since: at, goesOnAt: at };
  const view = one({}, { state: 'busy', review: { ...run, state: 'waiting' } });
  expect(text(view).text).toBe(`Review at ${comingTime(at)}: usage limit`);
});

it('says when a stage goes on that stopped at a usage limit, and what keeps it then', () => {
  const goesOnAt = new Date(Date.now() + 1_000).toISOString();
  const limitWait = { since: goesOnAt, window: null, resetsAt: goesOnAt, goesOnAt };
  const view = one({}, { state: 'idle', lastTurn: { outcome: 'failed', at: goesOnAt, message: null }, limitWait });
  expect(text(view)).toEqual({ text: `Goes on at ${comingTime(goesOnAt)}: usage limit`, tone: 'plain' });
  const memory = { code: 'memory' as const, reason: 'Waits for memory', until: null, stageIds: [] };
  expect(text({ ...view, startHolds: [memory] }).text).toBe('Waits for memory');
});

it('says of a done stage whether its work was merged', () => {
  const sha = `3f2a1c9${'0'.repeat(33)}`;
  const known = { commit: sha, head: sha, previous: sha };
  const merged = { ...known, into: 'main', branch: 'b', commits: 1, files: 1, at: AT };
  expect(text(one({ completedAt: AT, merged }))).toEqual({ text: 'merged 3f2a1c9', tone: 'done' });
  expect(text(one({ completedAt: AT }))).toEqual({ text: 'not merged', tone: 'plain' });
});

describe('a card that needs a person', () => {
  it('shows the command that is asked for, as code', () => {
    const pending = [request('STAGE-1', 'a'), request('STAGE-1', 'b')];
    const asked = { kind: 'approval', toolName: 'Bash' };
    expect(text(one({}, { state: 'waiting' }, pending))).toEqual({
      text: 'npm i',
      isCode: true,
      tone: 'needs',
      asked,
    });
  });
  it('shows of a script the command that is at risk, not its first line', () => {
    const input = { command: 'cd build\nls\ncrontab -r' };
    const stakes = [{ code: 'schedules', text: 'Changes what runs later.', command: 'crontab -r' }];
    const pending = [request('STAGE-1', 'a', { input, stakes })];
    expect(text(one({}, { state: 'waiting' }, pending)).text).toBe('… crontab -r');
  });
  it('counts the questions', () => {
    const input = { questions: [{}, {}, {}, {}] };
    const pending = [request('STAGE-1', 'a', { kind: 'question', toolName: 'AskUserQuestion', input })];
    expect(text(one({}, { state: 'waiting' }, pending)).text).toBe('4 questions');
  });
  it('says what failed, in red', () => {
    const lastTurn = { outcome: 'failed', at: '2026-01-01T10:00:00.000Z', message: 'no credit' };
    expect(text(one({}, { state: 'failed', lastTurn }))).toEqual({ text: 'failed: no credit', tone: 'fail' });
    expect(text(one({}, { state: 'idle', lastTurn }))).toEqual({
      text: 'the last turn failed: no credit',
      tone: 'fail',
    });
  });
  it('reports an unknown delivery before the end of the turn', () => {
    const lost = decision(request('STAGE-1', 'a'), { delivery: 'unknown' });
    const lastTurn = { outcome: 'interrupted', at: '2026-01-01T10:00:00.000Z', message: 'killed' };
    const stages = [{ stage: stage('STAGE-1'), session: session('STAGE-1', { state: 'ended', lastTurn }) }];
    expect(text(board({ stages, unsettled: [lost] }))).toEqual({
      text: 'an answer may not have reached Claude',
      tone: 'needs',
    });
  });
  it('says that it was interrupted', () => {
    const lastTurn = { outcome: 'interrupted', at: '2026-01-01T10:00:00.000Z', message: null };
    expect(text(one({}, { state: 'idle', lastTurn })).text).toBe('interrupted');
  });
});

it('says that a session is silent', () => {
  const stalledSince = '2026-01-01T10:00:00.000Z';
  expect(text(one({}, { state: 'busy', stalledSince }))).toMatchObject({ tone: 'needs' });
});

it('tells how Claude’s review after the last phase ended, until Claude has worked again', () => {
  const ended = (state: string, findings = 0, at = AT) => {
    const review = {
      runId: '0198f3a2-7c1b-4d1e-9a53-5b8f0c2d4e61',
      state,
      findings,
      since: '2026-01-01T10:05:00.000Z',
    };
    return text(one({}, { state: 'idle', lastTurn: { outcome: 'succeeded', message: '', at }, review }));
  };
  expect(ended('failed')).toMatchObject({ text: 'Review failed', tone: 'fail' });
  expect(ended('interrupted')).toMatchObject({ text: 'Review ended by a restart', tone: 'fail' });
  expect(ended('done', 2)).toMatchObject({ text: 'Review: 2 findings', tone: 'plain' });
  expect(ended('done')).toMatchObject({ text: 'Review found nothing', tone: 'plain' });
  expect(ended('done', 2, '2026-01-01T10:06:00.000Z').text).toBe('');
});
