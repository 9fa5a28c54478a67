import type { StageId } from '@callboard/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCapabilities } from '../../../data/queries.ts';
import { client, errorText } from '../../../lib/api-client.ts';
import type { Completion } from '../model/completion.ts';
import { COMMANDS_BEFORE_START, matchingCommands } from '../model/slash-commands.ts';

/** A completion for the typed text. */
export interface Suggestion {
  /** What is inserted: the command's name, or the path. */
  value: string;
  shown: string;
  /** The arguments that may follow. */
  hint: string;
  /** What it does. */
  does: string;
}

interface Suggestions {
  found: readonly Suggestion[];
  /** Why there are no suggestions, or what the list contains. */
  note: string | null;
}

const NOTHING: Suggestions = { found: [], note: null };

/** Suggestions for the text at the caret. */
export function useSuggestions(stageId: StageId, asked: Completion | null): Suggestions {
  const capabilities = useCapabilities({ stageId });
  const files = useFileSuggestions(stageId, asked?.kind === 'file' ? asked.typed : null);
  if (asked === null) return NOTHING;
  if (asked.kind === 'file') return files;
  const found = matchingCommands(capabilities?.commands ?? COMMANDS_BEFORE_START, asked.typed).map((command) => ({
    value: command.name,
    shown: `/${command.name}`,
    hint: command.argumentHint,
    does: command.description,
  }));
  const note = capabilities === null ? 'Some of them: Claude Code tells all it has once it was started.' : null;
  return { found, note: found.length > 0 ? note : null };
}

/** Files change while Claude works. */
const FRESH_MS = 5_000;

function useFileSuggestions(stageId: StageId, typed: string | null): Suggestions {
  const { data, error } = useQuery({
    queryKey: ['suggested-files', stageId, typed],
    queryFn: ({ signal }) => client.command('suggest_files', { stageId, query: typed ?? '' }, { signal }),
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
  return { found, note: isNone ? 'No file of the worktree has this in its path.' : null };
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const folderOf = (path: string) => path.slice(0, Math.max(path.lastIndexOf('/'), 0));
