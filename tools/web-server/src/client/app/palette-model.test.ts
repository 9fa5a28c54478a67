import { describe, expect, it } from 'vitest';
import { type Findable, findEntries, withRecent } from './palette-entries.tsx';

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

it('puts what can be done with the stage at hand before the same words elsewhere', () => {
  const all = [...ENTRIES, entry('STAGE-1 finish', 'Finish', 'This stage', 'merge complete')];
  const first = (query: string) => findEntries(all, query, [])[0]?.entries[0]?.label;
  expect(first('')).toBe('Finish');
  expect(first('complete')).toBe('Finish');
  expect(first('merge')).toBe('Finish');
  expect(first('board')).toBe('Board');
});
