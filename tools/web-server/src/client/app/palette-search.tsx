import type { BoardView, SearchKind, SearchResult } from '@callboard/contract';
import { useDebouncedValue } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { boardQuery } from '../data/queries.ts';
import { searchQuery } from '../data/search-query.ts';
import { indexingText, locationText, resultKey, resultPath, resultText } from '../lib/search-words.ts';
import { MarkedText } from '../ui/marked-text.tsx';
import { ProjectMark } from '../ui/project-mark.tsx';
import type { PaletteEntry } from './palette-entries.tsx';
import type { Found } from './palette-model.ts';

/** Fewer letters begin too many words. */
const SHORTEST = 2;
const PAUSE_MS = 120;
/** In each group. */
const SHOWN = 5;
const ID = 'result ';
const GROUP_OF: Readonly<Partial<Record<SearchKind, PaletteEntry['group']>>> = {
  prompt: 'In prompts',
  comment: 'In comments',
};

export interface FoundTexts {
  found: Found<PaletteEntry>[];
  /** What the list says where nothing is in it. */
  none: string;
  /** What is to be known about these results; null if nothing is. */
  note: string | null;
  isResult: (entry: PaletteEntry) => boolean;
}

const titlesOf = (view: BoardView) => ({
  stages: new Map(view.stages.map((stage) => [stage.id, stage])),
  projects: new Map(view.projects.map(({ id, name }) => [id, name])),
});

/** What stands in prompts, comments and transcripts, some time after the last key. Titles are found with the stages. */
export function useFoundTexts(typed: string): FoundTexts {
  const navigate = useNavigate();
  const { data: board } = useQuery({ ...boardQuery, select: titlesOf });
  const text = typed.trimStart();
  const [asked] = useDebouncedValue(text, PAUSE_MS);
  const isAsked = text.trim().length >= SHORTEST && asked.trim().length >= SHORTEST;
  const search = useInfiniteQuery({ ...searchQuery({ q: asked.slice(0, 1_000), limit: 20 }), enabled: isAsked });
  const page = isAsked ? search.data?.pages[0] : undefined;

  function toEntry(result: SearchResult): PaletteEntry[] {
    const stage = board?.stages.get(result.stageId);
    if (stage === undefined) return []; // deleted a moment ago
    const { snippet, marks } = result;
    return [
      {
        id: `${ID}${result.stageId} ${resultKey(result)}`,
        label: snippet,
        words: '',
        keys: null,
        stageId: null,
        group: GROUP_OF[result.kind] ?? 'In transcripts',
        icon: <ProjectMark name={board?.projects.get(stage.projectId) ?? ''} />,
        shown: <MarkedText text={snippet} marks={marks} />,
        hint: [resultText(result), locationText(result), stage.title].filter((part) => part !== null).join(' · '),
        act: () => void navigate(resultPath(result)),
      },
    ];
  }

  const results = (page?.results ?? []).filter(({ kind }) => kind !== 'title').flatMap(toEntry);
  const groups = ['In prompts', 'In comments', 'In transcripts'].map((title) => ({
    title,
    entries: results.filter(({ group }) => group === title).slice(0, SHOWN),
  }));
  const all: PaletteEntry = {
    id: `${ID}all`,
    label: `All results for "${text.trim()}"`,
    group: 'In transcripts',
    words: '',
    keys: null,
    icon: <IconSearch size={16} stroke={1.75} aria-hidden />,
    hint: null,
    stageId: null,
    act: () => void navigate(`/search?${new URLSearchParams({ q: text.trim() })}`),
  };
  const isWaiting = text.trim().length >= SHORTEST && (asked !== text || search.isFetching) && !search.isError;
  return {
    found: [
      ...groups.filter(({ entries }) => entries.length > 0),
      ...(results.length > 0 ? [{ title: 'Everything', entries: [all] }] : []),
    ],
    none: isWaiting ? 'Searching…' : 'No results',
    note: isAsked && search.isError ? 'Transcripts cannot be searched now.' : indexingText(page?.indexing),
    isResult: ({ id }) => id.startsWith(ID),
  };
}
