import type { BoardView, SearchKind, SearchResult, StageView } from '@callboard/contract';
import { Group, Modal, Text, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconChevronRight, IconSearch } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { z } from 'zod';
import { create } from 'zustand';
import { paletteDialog } from '../data/dialogs.ts';
import { boardQuery, stageOf } from '../data/queries.ts';
import { indexingText, locationText, resultKey, resultPath, resultText, searchQuery } from '../data/search.ts';
import { readStored, writeStored } from '../lib/browser-storage.ts';
import { ProjectMark } from '../ui/marks.tsx';
import { Empty, Hint } from '../ui/primitives.tsx';
import { isComposing } from '../ui/shortcuts.tsx';
import { MarkedText } from '../ui/text.tsx';
import css from './palette.module.css';
import {
  type Found,
  findEntries,
  type PaletteEntry,
  useActionEntries,
  usePageEntries,
  useProjectEntries,
  useStageEntries,
  withRecent,
} from './palette-entries.tsx';

/** Finds stages, pages and actions by a few letters. A chosen stage shows what can be done with it. */
export default function Palette() {
  return (
    <Modal.Root
      opened={paletteDialog.useIsOpen()}
      onClose={paletteDialog.close}
      size={600}
      yOffset={80}
      transitionProps={{ duration: 100 }}
    >
      <Modal.Overlay backgroundOpacity={0.4} />
      <Modal.Content classNames={{ content: css.content }} aria-label="Search or command">
        <OpenPalette />
      </Modal.Content>
    </Modal.Root>
  );
}

/** The palette: of everything, or of what was chosen. */
function OpenPalette() {
  /** What was chosen: a stage, and a thing of it that has choices. */
  const [chosen, setChosen] = useState<readonly PaletteEntry[]>([]);
  const atHand = paletteDialog.useLastSubject();
  const stageId = chosen.find((entry) => entry.stageId !== null)?.stageId ?? atHand;
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (stageId === null ? undefined : stageOf(stageId)(view)),
  });
  const shared = { chosen, setChosen };
  if (stage === undefined) return <PaletteBody {...shared} actions={[]} />;
  return <StagePalette key={stage.id} {...shared} stage={stage} />;
}

function StagePalette({ stage, ...shared }: Omit<PaletteBodyProps, 'actions'> & { stage: StageView }) {
  const isShown = useLocation().pathname === `/stages/${stage.id}`;
  return <PaletteBody {...shared} actions={useActionEntries(stage, isShown)} />;
}

interface PaletteBodyProps {
  chosen: readonly PaletteEntry[];
  setChosen: (chosen: readonly PaletteEntry[]) => void;
  /** What can be done with the chosen stage, or with the one at hand. */
  actions: readonly PaletteEntry[];
}

function PaletteBody({ chosen, setChosen, actions }: PaletteBodyProps) {
  const [query, setQuery] = useState('');
  const under = chosen.at(-1) ?? null;
  const [selected, setSelected] = useState(0);
  const { recent, remember } = useRecent();
  const pages = usePageEntries();
  const projects = useProjectEntries();
  const stages = useStageEntries();
  const texts = useFoundTexts(under === null ? query : '');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const all =
    under === null
      ? [...actions, ...pages, ...projects, ...stages]
      : under.stageId !== null
        ? actions
        : (under.choices ?? []);
  const found = [...findEntries(all, query, under === null ? recent : []), ...texts.found];
  const entries = found.flatMap((group) => group.entries);
  const listId = useId();
  const go = (to: readonly PaletteEntry[]) => {
    setChosen(to);
    setQuery('');
    setSelected(0);
  };
  const choose = (entry: PaletteEntry | undefined) => {
    if (entry === undefined) return;
    const [first = entry] = chosen;
    if (!texts.isResult(entry) && first.group !== 'This stage') remember(first.id);
    if (entry.act === null) return go([...chosen, entry]);
    // What is chosen may open something else over the page.
    paletteDialog.close();
    entry.act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setSelected((selected + step + entries.length) % Math.max(entries.length, 1));
    else if (event.key === 'Enter' && !event.repeat) choose(entries[selected]);
    else if (event.key === 'Backspace' && query === '' && under !== null) go(chosen.slice(0, -1));
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className={css.search}>
        <IconSearch size={18} stroke={1.75} aria-hidden />
        {under !== null && (
          <UnstyledButton
            className="truncate"
            maw="50%"
            p="2px 8px"
            bdrs="sm"
            fz="row"
            c="var(--text)"
            bg="var(--hover)"
            title="Back (Backspace)"
            onClick={() => go(chosen.slice(0, -1))}
          >
            {under.label}
          </UnstyledButton>
        )}
        <input
          ref={field}
          role="combobox"
          aria-label="Search or command"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={entries.length === 0 ? undefined : `${listId}-${selected}`}
          autoComplete="off"
          spellCheck={false}
          placeholder={under === null ? 'Search stages, transcripts, pages and actions' : 'Choose an action'}
          value={query}
          data-autofocus
          onChange={(event) => {
            setQuery(event.currentTarget.value);
            setSelected(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <Results
        listId={listId}
        found={found}
        selected={selected}
        choose={choose}
        select={setSelected}
        none={texts.none}
      />
      {texts.note !== null && (
        <Hint size="xs" px="lg" py="sm" style={{ borderTop: '1px solid var(--line)' }}>
          {texts.note}
        </Hint>
      )}
    </>
  );
}

interface ResultsProps {
  listId: string;
  found: readonly Found<PaletteEntry>[];
  selected: number;
  select: (index: number) => void;
  choose: (entry: PaletteEntry) => void;
  /** What an empty list says. */
  none: string;
}

function Results({ listId, found, selected, select, choose, none }: ResultsProps) {
  let index = -1;
  return (
    <div className={css.results} role="listbox" id={listId} aria-label="Results">
      {found.map(({ title, entries }) => (
        // biome-ignore lint/a11y/useSemanticElements: a group within a listbox
        <div key={title ?? ''} role="group" aria-label={title ?? 'Results'}>
          {title !== null && (
            <Text size="xs" c="var(--faint)" p="8px 12px 4px" aria-hidden>
              {title}
            </Text>
          )}
          {entries.map((entry) => {
            index += 1;
            const own = index;
            return (
              <Option
                key={entry.id}
                id={`${listId}-${own}`}
                entry={entry}
                isSelected={own === selected}
                select={() => select(own)}
                choose={() => choose(entry)}
              />
            );
          })}
        </div>
      ))}
      {found.length === 0 && <Empty>{none}</Empty>}
    </div>
  );
}

interface OptionProps {
  id: string;
  entry: PaletteEntry;
  isSelected: boolean;
  select: () => void;
  choose: () => void;
}

/** A row. The keys belong to the field, which keeps the focus. */
function Option({ id, entry, isSelected, select, choose }: OptionProps) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isSelected) row.current?.scrollIntoView({ block: 'nearest' });
  }, [isSelected]);
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus and names this option
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
    <div
      ref={row}
      id={id}
      className={css.option}
      role="option"
      aria-selected={isSelected}
      onPointerMove={isSelected ? undefined : select}
      onMouseDown={(event) => event.preventDefault()}
      onClick={choose}
    >
      <span>{entry.icon}</span>
      {entry.isText === true ? (
        <div>
          <Text inherit lineClamp={2}>
            {entry.shown}
          </Text>
          <Hint size="xs" truncate>
            {entry.hint}
          </Hint>
        </div>
      ) : (
        <span className="truncate">{entry.shown ?? entry.label}</span>
      )}
      {entry.isText !== true && entry.hint !== null && (
        <Group component="span" flex="none" wrap="nowrap" fz="xs">
          {entry.hint}
        </Group>
      )}
      {entry.keys !== null && (
        <Text component="kbd" inherit fz={11} visibleFrom="sm">
          {entry.keys.join(' ')}
        </Text>
      )}
      {entry.act === null && <IconChevronRight size={14} aria-hidden />}
    </div>
  );
}

const KEY = 'callboard-palette-recent';

interface Recent {
  /** The ids of what was chosen lately, the newest first. */
  recent: readonly string[];
  remember(id: string): void;
}

/** What was chosen in the palette lately, kept by this browser. */
const useRecent = create<Recent>((set, get) => ({
  recent: readStored(KEY, z.array(z.string()), []),
  remember(id) {
    const recent = withRecent(get().recent, id);
    writeStored(KEY, recent);
    set({ recent });
  },
}));

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
function useFoundTexts(typed: string): FoundTexts {
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
        shown: <MarkedText text={snippet} marks={marks} isMarkdown={result.kind === 'text'} />,
        hint: [stage.title, resultText(result), locationText(result)].filter((part) => part !== null).join(' · '),
        isText: true,
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
