import { type PendingRequest, questionsOf } from '@callboard/contract';
import { describeTool } from './describe-tool.ts';

const LONGEST = 200;

/** What a request asks for, in one line for the decision log. Paths inside of the worktree are shown relative to it. */
export function describeRequest(request: PendingRequest, worktree: string | null): string {
  switch (request.kind) {
    case 'approval':
      return describeTool(request.toolName, request.input, worktree);
    case 'question':
      return oneLine(
        questionsOf(request.input)
          .map(({ question }) => question)
          .join(' '),
      );
    case 'plan':
      return oneLine(text(request.input.plan));
    case 'network':
      return oneLine(`Network ${text(request.input.host)}`);
    case 'elicitation':
      return oneLine(`${request.displayName}: ${text(request.input.message)}`);
    default:
      return request.kind satisfies never;
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function oneLine(words: string): string {
  const line = words.replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}
