import type { ToolInput } from '@callboard/contract';

/** Which part of a tool's input says best what the call is about. */
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

const LONGEST = 120;

/** A tool call in a few words, for the board: "Edit src/app.ts". Paths inside of the worktree are shown relative to it. */
export function describeTool(toolName: string, input: ToolInput, worktree: string | null): string {
  const subject = SUBJECTS.map((key) => input[key]).find((value) => typeof value === 'string' && value.trim() !== '');
  if (typeof subject !== 'string') return toolName;
  const near = worktree === null ? subject : subject.replaceAll(`${worktree}/`, '');
  const line = near.replaceAll(/\s+/g, ' ').trim();
  return `${toolName} ${line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line}`;
}
