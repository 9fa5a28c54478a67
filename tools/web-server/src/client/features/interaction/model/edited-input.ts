import type { PendingRequest, ToolInput } from '@callboard/contract';
import { field } from '../../../lib/tool-words.ts';
import { type JsonProblem, jsonProblem } from './json-problem.ts';

type Call = Pick<PendingRequest, 'toolName' | 'input'>;

/** A command is edited as text; every other input as JSON. */
export const isCommand = ({ toolName, input }: Call): boolean => toolName === 'Bash' && field(input, 'command') !== '';

/** Returns the initial text of the editor. */
export const editableText = (call: Call): string =>
  isCommand(call) ? field(call.input, 'command') : JSON.stringify(call.input, null, 2);

export function editProblem(call: Call, edited: string): JsonProblem | null {
  if (!isCommand(call)) return jsonProblem(edited);
  return edited.trim() === '' ? { line: 1, message: 'There is no command to run.' } : null;
}

/** Returns the changed input; undefined if it equals what Claude asked for, or cannot be parsed. */
export function changedInput(call: Call, edited: string | null): ToolInput | undefined {
  if (edited === null || editProblem(call, edited) !== null) return undefined;
  const input: ToolInput = isCommand(call) ? { ...call.input, command: edited } : JSON.parse(edited);
  return JSON.stringify(input) === JSON.stringify(call.input) ? undefined : input;
}
