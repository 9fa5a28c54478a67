import type { PendingRequest } from './requests.ts';
import type { TextKind } from './visible.ts';

type Asked = readonly [text: string, kind: TextKind];

/** Fields with prose, and fields with file contents. In all other fields every character counts. */
const PROSE = ['description', 'message', 'plan', 'question', 'header', 'label', 'title', 'prompt', 'preview'];
const CONTENTS = ['content', 'new_string', 'old_string', 'new_source'];

/** Returns what the texts of a tool's input are. That of an MCP tool may be prose or commands. */
export const kindOfInput = (toolName: string): TextKind => (/^[A-Z]\w*$/.test(toolName) ? 'command' : 'code');

/** Returns all texts in a request that a person decides on, including field names. */
export function askedTexts({
  toolName,
  input,
  description,
  reason,
  blockedPath,
  agent,
  parentAgent,
  suggestions,
  commands,
  leavesSandbox,
}: PendingRequest): Asked[] {
  const said = [description, reason, agent, parentAgent, leavesSandbox?.reason ?? null].flatMap((text): Asked[] =>
    text === null ? [] : [[text, 'prose']],
  );
  const exact = [toolName, blockedPath ?? ''].map((text): Asked => [text, 'command']);
  const running = commands.map(({ text, isBackground }): Asked => [text, isBackground ? 'prose' : 'command']);
  return [...exact, ...said, ...running, ...textsIn(input, kindOfInput(toolName)), ...textsIn(suggestions, 'command')];
}

function textsIn(value: unknown, kind: TextKind): Asked[] {
  if (typeof value === 'string') return [[value, kind]];
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, kind));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => [
    [name, kind] as const,
    ...textsIn(item, kindOfField(name, kind)),
  ]);
}

/** Returns what the text of a field is, in an input of this kind. */
export function kindOfField(name: string, kind: TextKind): TextKind {
  if (PROSE.includes(name)) return 'prose';
  return CONTENTS.includes(name) ? 'code' : kind;
}
