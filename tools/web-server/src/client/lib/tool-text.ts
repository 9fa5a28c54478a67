import { type ToolInput, visibleText } from '@callboard/contract';

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

/** A path relative to a folder, if it is inside. */
export function relativePath(path: string, folder: string | null | undefined): string {
  if (folder === null || folder === undefined || folder === '') return path;
  const base = folder.endsWith('/') ? folder : `${folder}/`;
  return path.startsWith(base) ? path.slice(base.length) : path;
}

/** Shortens a path to at most `max` characters: its beginning and its file name stay. */
export function shortPath(path: string, max: number): string {
  if (path.length <= max) return path;
  const name = path.slice(path.lastIndexOf('/'));
  const room = max - name.length - 1;
  return room > 0 ? `${path.slice(0, room)}…${name}` : `…${path.slice(1 - max)}`;
}

const LETTERS: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };
const MAX_CHARACTER_LENGTH = 4;

/**
 * Returns a file's name as people read it. A name that is not UTF-8 comes as git quotes it, which stays its identity: its bytes that
 * are no text are shown as codes.
 */
export function fileName(path: string): string {
  if (!/^".*"$/s.test(path)) return path;
  const bytes = [...path.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\])/gsu)].flatMap(([, octal, letter, plain]) => {
    if (octal !== undefined) return Number.parseInt(octal, 8);
    if (letter !== undefined) return LETTERS[letter] ?? [...new TextEncoder().encode(letter)];
    return [...new TextEncoder().encode(plain)];
  });
  let name = '';
  for (let at = 0; at < bytes.length; ) {
    const length = characterAt(bytes, at);
    name += length === 0 ? `⟨\\x${(bytes[at] ?? 0).toString(16)}⟩` : decoded(bytes.slice(at, at + length));
    at += Math.max(1, length);
  }
  return name;
}

/** Returns how many bytes the character here has; 0 if this is no character. */
function characterAt(bytes: readonly number[], at: number): number {
  for (let length = 1; length <= MAX_CHARACTER_LENGTH; length++)
    if (decoded(bytes.slice(at, at + length)) !== '') return length;
  return 0;
}

function decoded(bytes: readonly number[]): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return '';
  }
}

/** A file's name on the page: hidden characters are shown. */
export const pathText = (path: string): string => visibleText(fileName(path), 'command');
