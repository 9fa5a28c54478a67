import type { ProjectId, StageId } from '@callboard/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { client, errorText } from '../lib/api-client.ts';
import { COMMANDS_BEFORE_START, type Completion, matchingCommands, type Suggestions } from '../lib/completion.ts';
import { useCapabilities } from './queries.ts';

const NOTHING: Suggestions = { found: [], note: null };

/** Where a text will be read: by a stage in its worktree, or by a new stage of a project. */
export type TextPosition = { stageId: StageId } | { projectId: ProjectId };

/** Suggestions for the text at the caret. */
export function useSuggestions(position: TextPosition, asked: Completion | null): Suggestions {
  const capabilities = useCapabilities(position);
  const files = useFileSuggestions(position, asked?.kind === 'file' ? asked.typed : null);
  if (asked === null) return NOTHING;
  if (asked.kind === 'file') return files;
  const found = matchingCommands(capabilities?.commands ?? COMMANDS_BEFORE_START, asked.typed).map((command) => ({
    value: command.name,
    shown: `/${command.name}`,
    hint: command.argumentHint,
    does: command.description,
  }));
  const note = capabilities === null ? 'Not all commands: Claude Code lists the rest once it has been started.' : null;
  return { found, note: found.length > 0 ? note : null };
}

/** Files change while Claude works. */
const FRESH_MS = 5_000;

function useFileSuggestions(position: TextPosition, typed: string | null): Suggestions {
  const { data, error } = useQuery({
    queryKey: ['suggested-files', position, typed],
    queryFn: ({ signal }) => filesOf(position, typed ?? '', signal),
    enabled: typed !== null,
    staleTime: FRESH_MS,
    gcTime: 10 * FRESH_MS,
    placeholderData: keepPreviousData, // the list stays while the next one loads
  });
  if (error !== null) return { found: [], note: `The files could not be listed. ${errorText(error)}` };
  const found = (data?.files ?? []).map((path) => ({
    value: path,
    shown: nameOf(path),
    hint: '',
    does: folderOf(path),
  }));
  const isNone = data !== undefined && found.length === 0 && typed !== '';
  return { found, note: isNone ? 'No matching files' : null };
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const folderOf = (path: string) => path.slice(0, Math.max(path.lastIndexOf('/'), 0));

const filesOf = (position: TextPosition, query: string, signal: AbortSignal) =>
  'stageId' in position
    ? client.command('suggest_files', { ...position, query }, { signal })
    : client.command('suggest_project_files', { ...position, query }, { signal });
