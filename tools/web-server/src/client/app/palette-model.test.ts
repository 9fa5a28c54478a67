import { describe, expect, it } from 'vitest';
import { session, stage } from '../test/samples.ts';
import { type Findable, findEntries, stageActions, withRecent } from './palette-entries.tsx';

const entry = (id: string, label: string, group: Findable['group'] = 'Stages', words = ''): Findable => ({
  id,
  label,
  group,
  words,
});
const ENTRIES = [
  entry('/', 'Board', 'Pages and actions', 'page go'),
  entry('new', 'New stage', 'Pages and actions'),
  entry('STAGE-1', 'Login form', 'Stages', 'STAGE-1 shop'),
  entry('STAGE-12', 'Refunds by letter', 'Stages', 'STAGE-12 storefront'),
];
const labels = (query: string, recent: string[] = []) =>
  findEntries(ENTRIES, query, recent).map(({ title, entries }) => [title, ...entries.map(({ label }) => label)]);

describe('finding', () => {
  it('shows what was used lately first, and the rest in groups', () => {
    expect(labels('', ['STAGE-12', 'gone', '/'])).toEqual([
      ['Recent', 'Refunds by letter', 'Board'],
      ['Pages and actions', 'New stage'],
      ['Stages', 'Login form'],
    ]);
    expect(labels('')[0]?.[0]).toBe('Pages and actions');
  });

  it('finds by letters that are not beside one another, by words in any order, by id and by project', () => {
    expect(labels('lgfm')).toEqual([[null, 'Login form']]);
    expect(labels('form login')).toEqual([[null, 'Login form']]);
    expect(labels('stage-12')[0]?.[1]).toBe('Refunds by letter');
    expect(labels('storefront')).toEqual([[null, 'Refunds by letter']]);
  });

  it('finds nothing for what is nowhere', () => {
    expect(labels('zzzz')).toEqual([]);
  });

  it('puts the one used lately first among equals', () => {
    const twins = [entry('a', 'Fix the form'), entry('b', 'Fix the form')];
    expect(findEntries(twins, 'fix', ['b'])[0]?.entries.map(({ id }) => id)).toEqual(['b', 'a']);
  });
});

it('remembers the last eight, each once', () => {
  expect(withRecent(['a', 'b', 'c'], 'c')).toEqual(['c', 'a', 'b']);
  expect(withRecent(['1', '2', '3', '4', '5', '6', '7', '8'], '9')).toEqual(['9', '1', '2', '3', '4', '5', '6', '7']);
});

describe('the actions of a stage', () => {
  const quiet = { calls: false, isAside: false, paused: false };
  const actions = (
    changes: Parameters<typeof stage>[1],
    with_: ReturnType<typeof session> | null = null,
    calls = quiet,
  ) => stageActions({ ...stage('STAGE-1', changes), session: with_, column: 'ready' }, calls, true);

  it('are those that it has in its state, and opening comes first', () => {
    expect(actions({})).toEqual(['open', 'start', 'hold', 'delete']);
    expect(actions({}, session('STAGE-1', { state: 'busy' }))).toEqual([
      'open',
      'changes',
      'interrupt',
      'hold',
      'delete',
    ]);
    expect(actions({}, session('STAGE-1', { state: 'starting' }))).toEqual(['open', 'changes', 'hold', 'delete']);
    expect(actions({}, session('STAGE-1', { state: 'idle' }))).toEqual([
      'open',
      'changes',
      'complete',
      'hold',
      'delete',
    ]);
    expect(actions({}, session('STAGE-1', { state: 'idle', atGate: true }))).toEqual([
      ...['open', 'changes', 'next-phase', 'complete', 'hold', 'delete'],
    ]);
    expect(actions({ held: true }, null, { ...quiet, paused: true })).toEqual(['open', 'start', 'release', 'delete']);
    expect(actions({ completedAt: new Date().toISOString() })).toEqual(['open', 'reopen', 'delete']);
  });

  it('set its requests aside, or let those set aside call again', () => {
    const waiting = session('STAGE-1', { state: 'waiting' });
    const of = (calls: boolean, isAside: boolean) => actions({}, waiting, { ...quiet, calls, isAside }).slice(2);
    expect(of(true, false)).toEqual(['later', 'interrupt', 'hold', 'delete']);
    expect(of(true, true)).toEqual(['later', 'interrupt', 'hold', 'delete']);
    expect(of(false, true)).toEqual(['call-again', 'interrupt', 'hold', 'delete']);
  });

  it('only open it while no command can be sent', () => {
    expect(stageActions({ ...stage('STAGE-1'), session: null, column: 'ready' }, quiet, false)).toEqual(['open']);
  });
});
