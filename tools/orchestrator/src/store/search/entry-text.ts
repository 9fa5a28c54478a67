import type { Decision, SearchKind, TranscriptEntry } from '@callboard/contract';

/** What the index knows of an entry. */
export interface IndexedText {
  kind: SearchKind;
  text: string;
  by: string | null;
  toolName: string | null;
}

/** Returns what a person can find an entry by; null for an entry without words. */
export function textOfEntry(entry: TranscriptEntry): IndexedText | null {
  const nobody = { by: null, toolName: null };
  switch (entry.kind) {
    case 'user':
      return { kind: 'message', text: [entry.text, ...namesOf(entry)].join('\n'), by: entry.by, toolName: null };
    case 'text':
    case 'thinking':
    case 'notice':
      return { kind: entry.kind, text: entry.text, ...nobody };
    case 'tool-use':
      return { kind: 'tool', text: textsIn(entry.input), by: null, toolName: entry.toolName };
    case 'tool-result':
      return { kind: 'tool', text: entry.text, ...nobody };
    case 'decision':
      return { kind: 'decision', text: textOfDecision(entry.decision), by: entry.decision.by, toolName: null };
    case 'turn-end':
      return entry.message === null ? null : { kind: 'notice', text: entry.message, ...nobody };
    case 'unknown':
      return null;
  }
}

/** An older Callboard's entries lack fields that were added since. */
const namesOf = ({ attachments }: { attachments?: readonly { name?: string | null }[] }): string[] =>
  (attachments ?? []).flatMap(({ name }) => name ?? []);

function textOfDecision({ asked, reason, answers, updatedInput }: Decision): string {
  const said = Object.entries(answers ?? {}).map(([question, answer]) => `${question} ${answer}`);
  return [asked, reason, ...said, updatedInput && textsIn(updatedInput)].filter(Boolean).join('\n');
}

/** All texts within a value, one a line; keys are names of the tool's own and say nothing. */
function textsIn(value: unknown): string {
  const texts: string[] = [];
  collect(value, texts);
  return texts.join('\n');
}

function collect(value: unknown, texts: string[]): void {
  if (typeof value === 'string') texts.push(value);
  else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) collect(one, texts);
}
