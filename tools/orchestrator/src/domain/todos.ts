import { Todo, type ToolInput } from '@callboard/contract';
import { z } from 'zod';

const TodoWrite = z.object({ todos: z.array(Todo) });

/** The list that a call of TodoWrite sets; null for any other call. */
export function todosOf(toolName: string, input: ToolInput): Todo[] | null {
  if (toolName !== 'TodoWrite') return null;
  const parsed = TodoWrite.safeParse(input);
  return parsed.success ? parsed.data.todos : null;
}
