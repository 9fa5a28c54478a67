import { type PendingRequest, questionsOf, visibleText } from '@callboard/contract';
import { count } from './format.ts';
import { shortPath } from './paths.ts';
import { field, filePath, toolTitle, toolWords } from './tool-words.ts';

// What a request asks for, in words: as the name of its form, and as one line for a card or a list.

const ASKS: Record<string, { title: (object: string) => string; to: string }> = {
  Bash: { title: () => 'wants to run a command', to: 'run' },
  Read: { title: (file) => `wants to read ${file}`, to: 'read' },
  Edit: { title: (file) => `wants to edit ${file}`, to: 'edit' },
  MultiEdit: { title: (file) => `wants to edit ${file}`, to: 'edit' },
  NotebookEdit: { title: (file) => `wants to edit ${file}`, to: 'edit' },
  Write: { title: (file) => `wants to write ${file}`, to: 'write' },
  WebFetch: { title: () => 'wants to fetch a page', to: 'fetch' },
  WebSearch: { title: () => 'wants to search the web', to: 'search the web for' },
};

/** "Login form wants to run a command": what the form or dialog is named. */
export const askTitle = (request: PendingRequest, stageTitle: string, folder: string | null): string =>
  `${stageTitle} ${askWords(request, folder)}`;

const PATH_SHOWN = 60;

/** Whether the name of a form shows a path only in part. */
export const isPathCut = (path: string): boolean => path.length > PATH_SHOWN;

/** "wants to run a command": that name without the stage's title. */
export function askWords(request: PendingRequest, folder: string | null): string {
  switch (request.kind) {
    case 'approval': {
      if (request.leavesSandbox !== null) return 'wants to run a command outside the sandbox';
      const { object } = toolWords(request.toolName, request.input, folder);
      return (
        ASKS[request.toolName]?.title(shortPath(object, PATH_SHOWN)) ?? `wants to use ${toolTitle(request.toolName)}`
      );
    }
    case 'question': {
      const asked = questionsOf(request.input).length;
      return asked > 1 ? `has ${count(asked, 'question')}` : 'has a question';
    }
    case 'plan':
      return 'has a plan';
    case 'elicitation':
      return `has a form from ${visibleText(request.displayName, 'prose')}`;
    case 'network':
      return `wants to reach ${hostWords(request)}`;
    default:
      return request.kind satisfies never;
  }
}

const askVerb = ({ toolName }: PendingRequest): string => ASKS[toolName]?.to ?? `use ${toolTitle(toolName)}`;

/** "asks to run: npm i": one line, to be cut by whoever shows it. */
export function askSummary(request: PendingRequest, folder: string | null): string {
  switch (request.kind) {
    case 'approval': {
      const { object } = toolWords(request.toolName, request.input, folder);
      const to = request.leavesSandbox !== null ? 'leave the sandbox' : askVerb(request);
      return object === '' ? `asks to ${to}` : `asks to ${to}: ${firstLine(object)}`;
    }
    case 'question':
      return `asks: ${visibleText(firstLine(questionsOf(request.input)[0]?.question ?? 'a question'), 'prose')}`;
    case 'plan':
      return 'has a plan for you to accept';
    case 'elicitation':
      return `asks for ${visibleText(`${request.displayName}: ${firstLine(field(request.input, 'message'))}`, 'prose')}`;
    case 'network':
      return `asks to reach ${hostWords(request)}`;
    default:
      return request.kind satisfies never;
  }
}

/** The host that a command wants to reach, with escapes visible. */
export const hostWords = ({ input }: Pick<PendingRequest, 'input'>): string =>
  visibleText(field(input, 'host'), 'command') || 'a host that Claude Code does not name';

/** The path of the file that `askSummary` names; empty where it names none. */
export const askPath = (request: PendingRequest, folder: string | null): string =>
  request.kind === 'approval' && filePath(request.input) !== ''
    ? toolWords(request.toolName, request.input, folder).object
    : '';

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';

/** A few words of somebody else as one sentence of ours: a capital first, a full stop last. */
export function asSentence(words: string): string {
  const text = words.trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…:]$/.test(text) ? '' : '.'}`;
}

/** One key for a request among all stages. */
export const requestKey = ({ stageId, requestId }: Pick<PendingRequest, 'stageId' | 'requestId'>): string =>
  `${stageId}/${requestId}`;
