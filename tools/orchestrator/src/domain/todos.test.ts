import { expect, it } from 'vitest';
import { todosOf } from './todos.ts';

const todos = [{ content: 'Build', status: 'in_progress', activeForm: 'Building' }];

it('reads the list that a call of TodoWrite sets', () => {
  expect(todosOf('TodoWrite', { todos })).toEqual([{ content: 'Build', status: 'in_progress' }]);
  expect(todosOf('TodoWrite', { todos: [] })).toEqual([]);
});

it('keeps the list as it is for any other call, and for one that it does not understand', () => {
  expect(todosOf('Bash', { todos })).toBeNull();
  expect(todosOf('TodoWrite', {})).toBeNull();
  expect(todosOf('TodoWrite', { todos: [{ content: 'Build', status: 'someday' }] })).toBeNull();
});
