import { Todo, type ToolInput } from '@callboard/contract';
import { z } from 'zod';

/**
 * Claude's todo list. Which tools keep it depends on the model (seen with CLI 2.1.330): `TodoWrite` replaces it;
 * `TaskCreate`, `TaskUpdate` and `TaskList` change and read single lines; the newest models have neither.
 */

/** What the result of a call says about the list. */
export type TodoUpdate = { kind: 'added'; todo: Todo } | { kind: 'all'; todos: Todo[] };

const TodoWrite = z.object({ todos: z.array(Todo) });
const TaskUpdate = z.object({
  taskId: z.string(),
  subject: z.string().optional(),
  status: z.enum([...Todo.shape.status.options, 'deleted']).optional(),
});

/** Returns the list after a tool call; unchanged for a call that changes no list or cannot be parsed. */
export function todosAfterCall(todos: readonly Todo[], toolName: string, input: ToolInput): readonly Todo[] {
  if (toolName === 'TodoWrite') return TodoWrite.safeParse(input).data?.todos ?? todos;
  if (toolName !== 'TaskUpdate') return todos;
  const { data } = TaskUpdate.safeParse(input);
  if (data === undefined) return todos;
  const { taskId, subject, status } = data;
  return todos.flatMap((todo) => {
    if (todo.id !== taskId) return [todo];
    if (status === 'deleted') return [];
    return [{ ...todo, content: subject ?? todo.content, status: status ?? todo.status }];
  });
}

/** Returns the list after news from a tool result. A line that already exists is only renamed. */
export function todosAfterUpdate(todos: readonly Todo[], updates: TodoUpdate): readonly Todo[] {
  if (updates.kind === 'all') return updates.todos;
  const { id, content } = updates.todo;
  if (!todos.some((todo) => todo.id === id)) return [...todos, updates.todo];
  return todos.map((todo) => (todo.id === id ? { ...todo, content } : todo));
}
