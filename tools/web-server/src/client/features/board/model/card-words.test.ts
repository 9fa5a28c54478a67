import type { StageView } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { board, decision, request, session, stage } from '../../../test/samples.ts';
import { cardWords } from './card-words.ts';

const titles: Record<string, string> = { 'STAGE-2': 'Login form', 'STAGE-3': 'Search' };
const words = (view: ReturnType<typeof board>, pending = view.pending) =>
  cardWords({
    stage: view.stages[0] as StageView,
    pending,
    unsettled: view.unsettled.length,
    titleOf: (id) => titles[id],
    isDone: () => false,
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
    expect(words(one({ dependsOn: ['STAGE-2', 'STAGE-3'] })).text).toBe('waits for Login form and 1 more');
  });
  it('says that a stage it waits for does not exist', () => {
    expect(words(one({ dependsOn: ['STAGE-9'] })).text).toBe('waits for STAGE-9, which does not exist');
  });
  it('says when a person holds it back', () => {
    expect(words(one({ held: true })).text).toBe('held back');
  });
});

it('shows the last action of a running stage', () => {
  const action = (lastAction: string) => words(one({}, { lastAction }));
  expect(action('Edit src/a.ts')).toEqual({ text: 'Edit src/a.ts', path: 'src/a.ts', tone: 'plain' });
  expect(action('Bash cat src/a.ts')).toEqual({ text: 'Bash cat src/a.ts', tone: 'plain' });
});

describe('a card that needs a person', () => {
  it('says what is asked, and how many more requests there are', () => {
    const pending = [request('STAGE-1', 'a'), request('STAGE-1', 'b')];
    expect(words(one({}, { state: 'waiting' }, pending))).toEqual({
      text: 'npm i and 1 more',
      tone: 'needs',
    });
  });
  it('says what failed, in red', () => {
    const lastTurn = { outcome: 'failed', at: '2026-01-01T10:00:00.000Z', message: 'no credit' };
    expect(words(one({}, { state: 'failed', lastTurn }))).toEqual({ text: 'failed: no credit', tone: 'fail' });
    expect(words(one({}, { state: 'idle', lastTurn }))).toEqual({
      text: 'the last turn failed: no credit',
      tone: 'fail',
    });
  });
  it('reports an unknown delivery before the end of the turn', () => {
    const lost = decision(request('STAGE-1', 'a'), { delivery: 'unknown' });
    const lastTurn = { outcome: 'interrupted', at: '2026-01-01T10:00:00.000Z', message: 'killed' };
    const stages = [{ stage: stage('STAGE-1'), session: session('STAGE-1', { state: 'ended', lastTurn }) }];
    expect(words(board({ stages, unsettled: [lost] }))).toEqual({
      text: 'an answer may not have reached Claude',
      tone: 'needs',
    });
  });
  it('says that it was interrupted', () => {
    const lastTurn = { outcome: 'interrupted', at: '2026-01-01T10:00:00.000Z', message: null };
    expect(words(one({}, { state: 'idle', lastTurn })).text).toBe('interrupted');
  });
});

it('says that a session is silent', () => {
  const stalledSince = '2026-01-01T10:00:00.000Z';
  expect(words(one({}, { state: 'busy', stalledSince }))).toMatchObject({ tone: 'needs' });
});
