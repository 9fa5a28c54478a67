import type { Indexing, SearchKind, SearchQuery, SearchResult } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query';
import { client, isTransient } from '../lib/api-client.ts';
import { pathText, toolTitle } from '../lib/tool-text.ts';

/** While the index is built, more is found all the time. */
const AGAIN_MS = 1_000;

const MAX_TRIES = 2;

const isUnavailable = (error: Error) => error instanceof TransportError && error.code === 'search_unavailable';

/** What is found, in pages. No event says that there is more to find, so an answer is soon out of date. */
export const searchQuery = (query: SearchQuery) =>
  infiniteQueryOptions({
    queryKey: ['search', query],
    initialPageParam: query.before,
    queryFn: ({ pageParam, signal }) => client.command('search', { ...query, before: pageParam }, { signal }),
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: 0,
    // The page says so, and the person tries again.
    retry: (failures, error) => isTransient(error) && (failures < MAX_TRIES || !isUnavailable(error)),
    refetchInterval: ({ state }) => (state.data?.pages.at(-1)?.indexing ? AGAIN_MS : false),
  });

/** The kinds of results, as a filter calls them. */
export const SEARCH_KIND_TEXTS: Readonly<Record<SearchKind, string>> = {
  title: 'Titles',
  prompt: 'Prompts',
  comment: 'Review comments',
  message: 'Messages',
  text: 'Claude’s answers',
  thinking: 'Thinking',
  tool: 'Commands and output',
  decision: 'Decisions',
  notice: 'Notices',
};

/** What Claude's own tools leave in a transcript. */
const TOOL_TEXTS: Readonly<Record<string, string>> = {
  Bash: 'Command',
  Edit: 'Edited file',
  MultiEdit: 'Edited file',
  Write: 'Written file',
  Read: 'Read file',
  ExitPlanMode: 'Plan',
  AskUserQuestion: 'Question',
};

/** Where a result was found, or who said it: "Claude", "Command", "Ada". */
export function resultText({ kind, by, toolName, comment }: SearchResult): string {
  switch (kind) {
    case 'title':
      return 'Title';
    case 'prompt':
      return 'Prompt';
    case 'comment':
      return comment?.isFinding === true ? 'Claude’s review' : `Comment, ${by}`;
    case 'message':
      return by ?? 'Message';
    case 'text':
      return 'Claude';
    case 'thinking':
      return 'Thinking';
    case 'tool':
      return toolName === null ? 'Output' : (TOOL_TEXTS[toolName] ?? toolTitle(toolName));
    case 'decision':
      return by === null ? 'Decision' : `Decision, ${by}`;
    case 'notice':
      return 'Notice';
    default:
      return kind satisfies never;
  }
}

/** How far the index is; null once it is complete. */
export function indexingText(indexing: Indexing | null | undefined): string | null {
  if (indexing == null) return null;
  const [done, total] = [indexing.done, indexing.total].map((n) => n.toLocaleString('en'));
  return `Indexing ${done} of ${total} entries; results may be incomplete`;
}

/** The file and the line that a comment is on, as a person writes it; null for everything else. */
export const locationText = ({ comment }: SearchResult): string | null =>
  comment === undefined ? null : `${pathText(comment.path)}:${comment.line}`;

/** What tells one result of a stage from the others. */
export const resultKey = ({ kind, index, comment }: SearchResult): string => `${kind} ${comment?.id ?? index ?? ''}`;

/** The place of a result: its comment in the changes, or its entry in the transcript, with the words that are marked there. */
export function resultPath({ stageId, kind, index, comment, snippet, marks }: SearchResult): string {
  if (comment !== undefined)
    return `/stages/${stageId}?${new URLSearchParams({ tab: 'changes', comment: comment.id })}`;
  if (index === undefined) return kind === 'prompt' ? `/stages/${stageId}?tab=details` : `/stages/${stageId}`;
  const longest = marks.map(([from, to]) => snippet.slice(from, to)).toSorted((a, b) => b.length - a.length)[0];
  const params = new URLSearchParams({ entry: String(index), ...(longest !== undefined && { mark: longest }) });
  return `/stages/${stageId}?${params}`;
}
