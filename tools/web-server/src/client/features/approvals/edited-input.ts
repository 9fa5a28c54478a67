import type { PendingRequest, ToolInput } from '@callboard/contract';
import { z } from 'zod';
import { field } from '../../lib/tool-text.ts';

type Call = Pick<PendingRequest, 'toolName' | 'input'>;

/** What a person edits before allowing a call: the command, the new texts of a file, or the whole input as JSON. */
export type EditorKind = 'command' | 'texts' | 'json';

/** A command is edited as text. */
export const isCommand = ({ toolName, input }: Call): boolean => toolName === 'Bash' && field(input, 'command') !== '';

/** The field of each tool's input that has the new text of a file. */
const TEXT_FIELD: Readonly<Record<string, string>> = {
  Edit: 'new_string',
  Write: 'content',
  NotebookEdit: 'new_source',
};

const Edits = z.array(z.looseObject({ old_string: z.string(), new_string: z.string() })).min(1);

const editsOf = ({ toolName, input }: Call) =>
  toolName === 'MultiEdit' ? Edits.safeParse(input.edits).data : undefined;

/** Returns the new texts that a call writes into its file; empty if it writes none. */
function newTexts(call: Call): string[] {
  const edits = editsOf(call);
  if (edits !== undefined) return edits.map((edit) => edit.new_string);
  const name = Object.hasOwn(TEXT_FIELD, call.toolName) ? TEXT_FIELD[call.toolName] : undefined;
  const text = name === undefined ? undefined : call.input[name];
  return typeof text === 'string' ? [text] : [];
}

/** Whether a text box can hold a text and give it back as it was. It turns a CR into a line end. */
const fitsTextBox = (text: string) => !text.includes('\r') || hasOnlyCrlf(text);
const hasOnlyCrlf = (text: string) => text.includes('\r\n') && !/(?<!\r)\n|\r(?!\n)/.test(text);

/** How the input of a call is edited. */
export function editorKind(call: Call): EditorKind {
  if (isCommand(call)) return 'command';
  const texts = newTexts(call);
  return texts.length > 0 && texts.every(fitsTextBox) ? 'texts' : 'json';
}

const Texts = z.array(z.string());

/** Returns the initial content of the editor: for several texts, all of them as JSON. */
export function editableText(call: Call): string {
  const kind = editorKind(call);
  switch (kind) {
    case 'command':
      return field(call.input, 'command');
    case 'texts':
      return JSON.stringify(newTexts(call));
    case 'json':
      return JSON.stringify(call.input, null, 2);
    default:
      return kind satisfies never;
  }
}

/** Returns the texts in the editor; those of the call if the draft has others, for example of an older release. */
export function editedTexts(call: Call, edited: string): string[] {
  const asked = newTexts(call);
  const texts = textsIn(edited);
  return texts?.length === asked.length ? texts : asked;
}

function textsIn(edited: string): string[] | undefined {
  try {
    return Texts.safeParse(JSON.parse(edited)).data;
  } catch {
    return undefined;
  }
}

/** Returns the editor's content once one of its texts is changed. A text box has lost the text's CRLF, so they are put back. */
export function withText(call: Call, edited: string, place: number, text: string): string {
  const asked = newTexts(call)[place] ?? '';
  const exact = hasOnlyCrlf(asked) ? text.replaceAll(/\r?\n/g, '\r\n') : text;
  return JSON.stringify(editedTexts(call, edited).with(place, exact));
}

export function editProblem(call: Call, edited: string): JsonProblem | null {
  const kind = editorKind(call);
  if (kind === 'command') return edited.trim() === '' ? { line: 1, message: 'There is no command to run.' } : null;
  return kind === 'texts' ? null : jsonProblem(edited);
}

/** Returns the changed input; undefined if it equals what Claude asked for, or cannot be parsed. */
export function changedInput(call: Call, edited: string | null): ToolInput | undefined {
  if (edited === null || editProblem(call, edited) !== null) return undefined;
  const input = inputWith(call, edited);
  return JSON.stringify(input) === JSON.stringify(call.input) ? undefined : input;
}

function inputWith(call: Call, edited: string): ToolInput {
  const kind = editorKind(call);
  if (kind === 'command') return { ...call.input, command: edited };
  if (kind === 'json') return JSON.parse(edited);
  const texts = editedTexts(call, edited);
  const edits = editsOf(call);
  if (edits !== undefined)
    return {
      ...call.input,
      edits: edits.map((edit, place) => ({ ...edit, new_string: texts[place] ?? edit.new_string })),
    };
  return { ...call.input, [TEXT_FIELD[call.toolName] ?? 'content']: texts[0] };
}

/** Where and why a text is not a JSON object. */
export interface JsonProblem {
  line: number;
  message: string;
}

/** Returns the first problem; null if the text is a JSON object. */
export function jsonProblem(text: string): JsonProblem | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? null : { line: 1, message: 'The input has to be an object in braces.' };
  } catch {
    // Engines word the error differently, and not all of them give the position.
    const at = endOfReadable(text);
    const line = text.slice(0, at).split('\n').length;
    const found =
      text.slice(at).trim() === '' ? 'the text ends too early' : `this is not readable: ${excerpt(text, at)}`;
    return { line, message: `Line ${line}: ${found}` };
  }
}

const excerpt = (text: string, at: number): string => (text.slice(at).split('\n')[0] ?? '').slice(0, 30);

const LITERAL =
  /(?:"(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})|[^"\\\p{Cc}])*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/uy;
const STRING = /"(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})|[^"\\\p{Cc}])*"/uy;

/** Returns the index up to which the text is a valid start of JSON. */
function endOfReadable(text: string): number {
  let at = 0;
  const skipSpace = () => {
    while (/[ \t\r\n]/.test(text.charAt(at)) && at < text.length) at += 1;
  };
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) return false;
    at += match[0].length;
    return true;
  };
  const takeChar = (char: string): boolean => {
    skipSpace();
    if (text.charAt(at) !== char) return false;
    at += 1;
    return true;
  };
  const list = (end: string, item: () => boolean): boolean => {
    if (takeChar(end)) return true;
    do {
      skipSpace();
      if (!item()) return false;
    } while (takeChar(','));
    return takeChar(end);
  };
  function value(): boolean {
    skipSpace();
    if (takeChar('{')) return list('}', () => take(STRING) && takeChar(':') && value());
    if (takeChar('[')) return list(']', value);
    return take(LITERAL);
  }
  if (value()) skipSpace();
  return at;
}
