import type { ToolInput } from '@callboard/contract';
import { ownProperty } from '../lib/own-property.ts';

/** The fields of a tool's input that say best what a call is about, in this order. */
const SUBJECTS = [
  'file_path',
  'notebook_path',
  'path',
  'command',
  'pattern',
  'url',
  'query',
  'description',
  'skill',
  'prompt',
];

const MAX_SUBJECT_LENGTH = 120;
const MAX_LINE_LENGTH = 200;

/** A tool call in a few words, for the board: "Edit src/app.ts". Paths inside the worktree are shown relative to it. */
export function describeTool(toolName: string, input: ToolInput, worktree: string | null): string {
  const subject = SUBJECTS.map((key) => input[key]).find((value) => typeof value === 'string' && value.trim() !== '');
  if (typeof subject !== 'string') return toolName;
  const near = worktree === null ? subject : subject.replaceAll(`${worktree}/`, '');
  return `${toolName} ${oneLine(near, MAX_SUBJECT_LENGTH)}`;
}

/** The words in one line, cut off with "…" where there are more than `longest` characters. */
export function oneLine(text: string, longest = MAX_LINE_LENGTH): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

/** A field of a tool's input; empty where it is not a text. */
export function textField(input: ToolInput, name: string): string {
  const value = ownProperty(input, name);
  return typeof value === 'string' ? value : '';
}
