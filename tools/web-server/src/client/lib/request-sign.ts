import type { RequestKind } from '@callboard/contract';

/** What a request is about, in one word. */
export type RequestSign = 'command' | 'edit' | 'file' | 'question' | 'plan' | 'form' | 'network' | 'tool';

const OF_TOOL: Readonly<Record<string, RequestSign>> = {
  Bash: 'command',
  Edit: 'edit',
  MultiEdit: 'edit',
  NotebookEdit: 'edit',
  Write: 'file',
  Read: 'file',
  WebFetch: 'network',
  WebSearch: 'network',
};

/** A kind that is not listed is shown as a tool. */
const OF_KIND: Readonly<Partial<Record<RequestKind, RequestSign>>> = {
  question: 'question',
  plan: 'plan',
  elicitation: 'form',
  network: 'network',
};

/** What a request of that kind, for that tool, is about. */
export function requestSign(kind: RequestKind, toolName: string): RequestSign {
  return (kind === 'approval' ? OF_TOOL[toolName] : OF_KIND[kind]) ?? 'tool';
}
