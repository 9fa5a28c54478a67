import type { Todo } from '@callboard/contract';
import { expect, it } from 'vitest';
import { todosAfterCall, todosAfterUpdate } from './agent-event.ts';

const todo = (id: string | null, content: string, status: Todo['status'] = 'pending'): Todo => ({
  id,
  content,
  status,
});
const list = [todo('1', 'Build'), todo('2', 'Test')];

it('replaces the list on TodoWrite', () => {
  const todos = [{ content: 'Build', status: 'in_progress', activeForm: 'Building' }];
  expect(todosAfterCall(list, 'TodoWrite', { todos })).toEqual([todo(null, 'Build', 'in_progress')]);
  expect(todosAfterCall(list, 'TodoWrite', { todos: [] })).toEqual([]);
});

it('changes a single line on TaskUpdate', () => {
  const change = (input: Record<string, unknown>) => todosAfterCall(list, 'TaskUpdate', { taskId: '1', ...input });
  expect(change({ status: 'completed' })).toEqual([todo('1', 'Build', 'completed'), list[1]]);
  expect(change({ subject: 'Build all' })).toEqual([todo('1', 'Build all'), list[1]]);
  expect(change({ status: 'deleted' })).toEqual([list[1]]);
  expect(change({ taskId: '9', status: 'deleted' })).toEqual(list);
});

it.each([
  ['Bash', { todos: [] }],
  ['TodoWrite', {}],
  ['TodoWrite', { todos: [{ content: 'Build', status: 'someday' }] }],
  ['TaskUpdate', { taskId: 1 }],
  ['TaskUpdate', { taskId: '1', status: 'someday' }],
])('leaves the list as it is after %s %o', (toolName, input) => {
  expect(todosAfterCall(list, toolName, input)).toBe(list);
});

it('applies news from tool results', () => {
  expect(todosAfterUpdate(list, { kind: 'added', todo: todo('3', 'Tell') })).toEqual([...list, todo('3', 'Tell')]);
  expect(todosAfterUpdate(list, { kind: 'added', todo: todo('2', 'Try') })).toEqual([list[0], todo('2', 'Try')]);
  expect(todosAfterUpdate(list, { kind: 'all', todos: [] })).toEqual([]);
});
