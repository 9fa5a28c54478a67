import { Todo, type ToolInput } from '@callboard/contract';
import { z } from 'zod';

/**
 * The list of what Claude has to do. Which tools keep it depends on the model (seen with CLI 2.1.330): `TodoWrite` writes it
 * whole; `TaskCreate`, `TaskUpdate` and `TaskList` change and read it line by line; the newest models have neither.
 */

/** What the result of a call tells of the list. */
export type TodoNews = { kind: 'added'; todo: Todo } | { kind: 'all'; todos: Todo[] };

const TodoWrite = z.object({ todos: z.array(Todo) });
const TaskUpdate = z.object({
  taskId: z.string(),
  subject: z.string().optional(),
  status: z.enum([...Todo.shape.status.options, 'deleted']).optional(),
});

/** The list after a call of a tool. A call that changes no list, or that is not understood, leaves it as it is. */
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

/** The list after a result told of it; a line that is there already is only named anew. */
export function todosAfterNews(todos: readonly Todo[], news: TodoNews): readonly Todo[] {
  if (news.kind === 'all') return news.todos;
  const { id, content } = news.todo;
  if (!todos.some((todo) => todo.id === id)) return [...todos, news.todo];
  return todos.map((todo) => (todo.id === id ? { ...todo, content } : todo));
}
