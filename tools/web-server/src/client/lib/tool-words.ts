import { type ToolInput, visibleText } from '@callboard/contract';
import { relativePath } from './paths.ts';

/** A tool call in a few words: a verb, its object, and whether the object is code (a command, a path). */
export interface ToolText {
  verb: string;
  object: string;
  isCode: boolean;
}

/** The text of a field of a tool's input; empty if there is none. */
export function field(input: ToolInput, name: string): string {
  const value = input[name];
  return typeof value === 'string' ? value : '';
}

export const filePath = (input: ToolInput): string => field(input, 'file_path') || field(input, 'notebook_path');

const file = (verb: string) => (input: ToolInput, folder: string | null) => ({
  verb,
  object: relativePath(filePath(input), folder),
  isCode: true,
});

const TEXTS: Record<string, (input: ToolInput, folder: string | null) => ToolText> = {
  Bash: (input) => ({ verb: 'Run', object: field(input, 'command'), isCode: true }),
  Read: file('Read'),
  Edit: file('Edit'),
  MultiEdit: file('Edit'),
  Write: file('Write'),
  NotebookEdit: file('Edit'),
  Glob: (input) => ({ verb: 'Find', object: field(input, 'pattern'), isCode: true }),
  Grep: (input) => ({ verb: 'Search', object: field(input, 'pattern'), isCode: true }),
  WebFetch: (input) => ({ verb: 'Fetch', object: field(input, 'url'), isCode: true }),
  WebSearch: (input) => ({ verb: 'Search the web', object: field(input, 'query'), isCode: false }),
  Task: (input) => ({ verb: 'Agent', object: field(input, 'description'), isCode: false }),
  Agent: (input) => ({ verb: 'Agent', object: field(input, 'description'), isCode: false }),
  TodoWrite: () => ({ verb: 'Update', object: 'to-do list', isCode: false }),
  AskUserQuestion: () => ({ verb: 'Ask', object: 'you', isCode: false }),
  ExitPlanMode: () => ({ verb: 'Plan', object: '', isCode: false }),
};

/** Describes a tool call in words. Hidden characters are shown as codes. */
export function toolText(toolName: string, input: ToolInput, folder: string | null = null): ToolText {
  const text = TEXTS[toolName]?.(input, folder) ?? otherTool(toolName, input);
  return { ...text, object: visibleText(text.object, text.isCode ? 'command' : 'prose') };
}

/** "github: create issue" for `mcp__github__create_issue`. */
export function toolTitle(toolName: string): string {
  const [prefix, server, ...rest] = toolName.split('__');
  const isTool = prefix === 'mcp' && server !== undefined && rest.length > 0;
  return visibleText(isTool ? `${server}: ${rest.join(' ').replaceAll('_', ' ')}` : toolName, 'command');
}

function otherTool(toolName: string, input: ToolInput): ToolText {
  const object = Object.values(input).find((value) => typeof value === 'string') ?? '';
  return { verb: toolTitle(toolName), object: String(object), isCode: false };
}
