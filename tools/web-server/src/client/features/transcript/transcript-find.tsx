import type { StageId, StageView, TranscriptEntry } from '@callboard/contract';
import { ActionIcon, Group, TextInput } from '@mantine/core';
import { IconChevronDown, IconChevronUp, IconFold, IconSearch, IconX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import {
  type KeyboardEvent as ReactKeyboardEvent,
  useDeferredValue,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useLocation, useNavigate, useSearchParams } from 'react-router';
import { create } from 'zustand';
import { transcriptQuery } from '../../data/queries.ts';
import { useSessionUi } from '../../lib/session-ui.ts';
import { toolText } from '../../lib/tool-text.ts';
import { Hint, Strip } from '../../ui/primitives.tsx';
import { isComposing, useShortcuts } from '../../ui/shortcuts.tsx';
import {
  type GrowingItems,
  inputOf,
  type Target,
  type ToolItem,
  type TranscriptItem,
  transcriptItems,
} from './transcript-items.ts';

interface TranscriptFind {
  /** The stage whose transcript is searched, and for what. Null if none is. `times`: how often it was asked for. */
  open: { stageId: StageId; text: string; times: number } | null;
  start(stageId: StageId): void;
  setText(text: string): void;
  close(): void;
}

/** The search in a transcript. It stays open while rows come and go. */
export const useTranscriptFind = create<TranscriptFind>((set) => ({
  open: null,
  start: (stageId) =>
    set(({ open }) => ({
      open: open?.stageId === stageId ? { ...open, times: open.times + 1 } : { stageId, text: '', times: 1 },
    })),
  setText: (text) => set(({ open }) => ({ open: open === null ? null : { ...open, text } })),
  close: () => set({ open: null }),
}));

/** An entry in which a text was found. */
export interface Found {
  /** The place of its row. */
  row: number;
  /** What has to be opened to see it, from the outside in. */
  open: readonly string[];
}

/** Finds a text in a transcript, whatever its case, also in what is folded. In the order of the transcript. */
export function findInItems(items: readonly TranscriptItem[], text: string): Found[] {
  const wanted = text.trim();
  if (wanted === '') return [];
  const pattern = new RegExp(wanted.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i');
  return items.flatMap((item, row) => foundIn(item, pattern).map((open) => ({ row, open })));
}

/** For each match in an item: what has to be opened. */
function foundIn(item: TranscriptItem, pattern: RegExp): string[][] {
  switch (item.kind) {
    case 'entry':
      return pattern.test(textOf(item.entry)) ? [openKeysOf(item.entry)] : [];
    case 'lookups': {
      const key = lookupsKey(item.tools);
      return item.tools.flatMap((tool) => foundInTool(tool, pattern).map((open) => [key, ...open]));
    }
    case 'tool':
      return foundInTool(item, pattern);
    case 'steps':
      return item.children.flatMap((child) => foundIn(child, pattern).map((open) => [item.toolUseId, ...open]));
    case 'taken-back':
      return [];
    default:
      return item satisfies never;
  }
}

function foundInTool(tool: ToolItem, pattern: RegExp): string[][] {
  const { use, result, decisions, changed, children } = tool;
  const { verb, object } = toolText(use.toolName, inputOf(tool));
  const inLine = pattern.test(`${verb} ${object}`);
  const inBody = !inLine && (anyText([use.input, changed], pattern) || (result !== null && pattern.test(result.text)));
  const inDecision = decisions.some(({ reason, answers }) => pattern.test(reason ?? '') || anyText(answers, pattern));
  const own = inLine || inDecision ? [[]] : inBody ? [[use.toolUseId]] : [];
  const inner = children.flatMap((child) => foundIn(child, pattern).map((open) => [use.toolUseId, ...open]));
  return [...own, ...inner];
}

/** Finds where an entry stands; null if it is not among these items. */
export function positionOfEntry(items: readonly TranscriptItem[], entry: TranscriptEntry): Found | null {
  for (const [row, item] of items.entries()) {
    const open = wayTo(item, entry);
    if (open !== null) return { row, open };
  }
  return null;
}

/** What has to be opened in an item to see the entry; null if it is not there. */
function wayTo(item: TranscriptItem, entry: TranscriptEntry): string[] | null {
  switch (item.kind) {
    case 'entry':
      return item.entry.index === entry.index ? openKeysOf(item.entry) : null;
    case 'lookups':
      return within(lookupsKey(item.tools), item.tools, entry);
    case 'tool':
      return wayToTool(item, entry) ?? within(item.use.toolUseId, item.children, entry);
    case 'steps':
      return within(item.toolUseId, item.children, entry);
    case 'taken-back':
      return null;
    default:
      return item satisfies never;
  }
}

function within(key: string, children: readonly TranscriptItem[], entry: TranscriptEntry): string[] | null {
  const [way] = children.flatMap((child) => {
    const inner = wayTo(child, entry);
    return inner === null ? [] : [inner];
  });
  return way === undefined ? null : [key, ...way];
}

function wayToTool({ use, result, decisions }: ToolItem, entry: TranscriptEntry): string[] | null {
  if (entry.kind === 'notice' && entry.changedCall?.toolUseId === use.toolUseId) return [use.toolUseId];
  if (entry.index === use.index || entry.index === result?.index) return [use.toolUseId];
  const isItsDecision =
    entry.kind === 'decision' && decisions.some(({ requestId }) => requestId === entry.decision.requestId);
  return isItsDecision ? [] : null;
}

/** The key under which a line of several look-ups remembers whether it is open. */
export const lookupsKey = (tools: readonly ToolItem[]): string => `lookups:${tools[0]?.use.toolUseId}`;

function openKeysOf(entry: TranscriptEntry): string[] {
  return entry.kind === 'thinking' ? [`block:${entry.blockId}`] : [];
}

function textOf(entry: TranscriptEntry): string {
  switch (entry.kind) {
    case 'user':
    case 'text':
    case 'thinking':
    case 'tool-result':
    case 'notice':
      return entry.text;
    case 'turn-end':
      return entry.message ?? '';
    case 'decision':
      return `${entry.decision.asked} ${entry.decision.reason ?? ''}`;
    default:
      return '';
  }
}

function anyText(value: unknown, pattern: RegExp): boolean {
  if (typeof value === 'string') return pattern.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((one) => anyText(one, pattern));
}

/** Every key under which something in these items may be open. */
export function foldKeys(items: readonly TranscriptItem[]): string[] {
  return items.flatMap((item) => {
    switch (item.kind) {
      case 'entry':
        return openKeysOf(item.entry);
      case 'lookups':
        return [lookupsKey(item.tools), ...item.tools.flatMap(keysOfTool)];
      case 'tool':
        return keysOfTool(item);
      case 'steps':
        return [item.toolUseId, ...foldKeys(item.children)];
      case 'taken-back':
        return [];
      default:
        return item satisfies never;
    }
  });
}

const keysOfTool = ({ use, decisions, children }: ToolItem): string[] => [
  use.toolUseId,
  ...decisions.map(({ requestId }) => `decision:${requestId}`),
  ...foldKeys(children),
];

/** The search in a stage's transcript, and how to move in it. */
export interface Find {
  isOpen: boolean;
  text: string;
  /** How many entries were found in what is loaded. */
  count: number;
  /** The number of the one that is shown, from 1 on; 0 if none is. */
  at: number;
  /** Whether entries are still being loaded, in which more may be found. */
  isLoading: boolean;
  /** The row to show. */
  target: Target | null;
  move: (by: 1 | -1) => void;
}

/** Searches the whole transcript: what is not loaded yet is loaded while the search is open. */
export function useFind(
  stageId: StageId,
  { items, keys }: GrowingItems,
  earlier: { left: number; isLoading: boolean; failed: boolean; loadAll: () => void },
): Find {
  const open = useTranscriptFind((state) => (state.open?.stageId === stageId ? state.open : null));
  const text = open?.text ?? '';
  const wanted = useDeferredValue(text);
  const isOpen = open !== null;
  const found = useMemo(() => (isOpen ? findInItems(items, wanted) : []), [isOpen, items, wanted]);
  /** The one that is shown: the row's key, since rows are added before it, and its place among those of the row. */
  const [shown, setShown] = useState<{ key: string; nth: number } | null>(null);
  const [target, setTarget] = useState<Target | null>(null);
  const at = shown === null ? -1 : locationOf(found, keys, shown);

  const show = (place: number) => {
    const one = found[place];
    if (one === undefined) return;
    const { setOpen } = useSessionUi.getState();
    for (const key of one.open) setOpen(key, true);
    const key = keys[one.row] ?? '';
    setShown({ key, nth: found.slice(0, place).filter(({ row }) => row === one.row).length });
    setTarget({ index: one.row });
  };
  const loadRest = useEffectEvent(() => {
    if (earlier.left > 0 && !earlier.failed) earlier.loadAll();
  });
  useEffect(() => {
    if (isOpen && wanted !== '') loadRest();
  }, [isOpen, wanted]);
  // The newest one first: a transcript is read from its end.
  const showNewest = useEffectEvent(() => show(found.length - 1));
  const isFound = found.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text is another search
  useEffect(() => {
    setShown(null);
    if (isFound) showNewest();
  }, [wanted, isFound]);

  return {
    isOpen,
    text,
    count: found.length,
    at: at + 1,
    isLoading: isOpen && wanted !== '' && earlier.left > 0 && !earlier.failed,
    target: isOpen ? target : null,
    move: (by) => show(at === -1 ? found.length - 1 : (at + by + found.length) % found.length),
  };
}

function locationOf(
  found: readonly Found[],
  keys: readonly string[],
  { key, nth }: { key: string; nth: number },
): number {
  const first = found.findIndex(({ row }) => keys[row] === key);
  return first === -1 ? -1 : first + nth;
}

/** Finds a text in the transcript: Enter goes to the next one, Escape ends it. */
export function FindBar({ find }: { find: Find }) {
  const field = useRef<HTMLInputElement>(null);
  const { setText, close } = useTranscriptFind.getState();
  const times = useTranscriptFind((state) => state.open?.times);
  // biome-ignore lint/correctness/useExhaustiveDependencies: also when it is asked for again
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [times]);
  const end = () => {
    close();
    focusTranscript();
  };
  const onKeyDown = (event: ReactKeyboardEvent) => {
    if (event.key === 'Enter' && !isComposing(event.nativeEvent)) find.move(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape') end();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <Strip component="search" direction="row" align="center" gap="xs" py="xs">
      <TextInput
        ref={field}
        flex="0 1 320px"
        miw={0}
        size="xs"
        aria-label="Find in transcript"
        placeholder="Find in transcript"
        leftSection={<IconSearch size={14} />}
        value={find.text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Hint span size="xs" className="figures" flex={1} pl="sm" role="status">
        {countText(find)}
      </Hint>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Previous"
        title="Previous (Shift Enter)"
        onClick={() => find.move(-1)}
        disabled={find.count === 0}
      >
        <IconChevronUp size={16} />
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Next"
        title="Next (Enter)"
        onClick={() => find.move(1)}
        disabled={find.count === 0}
      >
        <IconChevronDown size={16} />
      </ActionIcon>
      <ActionIcon variant="subtle" color="gray" aria-label="Close find" title="Close (Esc)" onClick={end}>
        <IconX size={16} />
      </ActionIcon>
    </Strip>
  );
}

function countText({ text, count, at, isLoading }: Find): string {
  if (text.trim() === '') return '';
  const more = isLoading ? ', reading earlier entries…' : '';
  if (count === 0) return isLoading ? 'Reading earlier entries…' : 'No results';
  return `${at === 0 ? count : `${at} of ${count.toLocaleString()}`}${more}`;
}

/** Gives the focus to the transcript, where its keys work. */
function focusTranscript(): void {
  document.querySelector<HTMLElement>('section[aria-label="Transcript"]')?.focus({ preventScroll: true });
}

function focusComposer(): boolean {
  const box = document.querySelector<HTMLTextAreaElement>('textarea[aria-label="Message"]');
  if (box === null || box.disabled) return false;
  box.focus();
  return true;
}

interface StageKeysOptions {
  stageId: StageId;
  /** Something lies over the page; its keys are not the page's. */
  isCovered: boolean;
  /** Makes the transcript visible where only one pane is. */
  showTranscript: () => void;
}

/** The keys of a stage's page: `m` writes, `/` and Ctrl+F find, Escape goes from the message back to the transcript. */
export function useStageKeys({ stageId, isCovered, showTranscript }: StageKeysOptions): void {
  const find = () => {
    if (isCovered) return false;
    showTranscript();
    useTranscriptFind.getState().start(stageId);
    return true;
  };
  useShortcuts({ m: ({ shiftKey }) => !shiftKey && !isCovered && focusComposer(), '/': find });
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || isCovered) return;
    const isFind =
      event.key.toLowerCase() === 'f' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (isFind && find()) event.preventDefault();
    if (event.key === 'Escape' && isComposer(event.target)) focusTranscript();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKeyDown(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
  useEffect(() => () => useTranscriptFind.getState().close(), []);
}

const isComposer = (target: EventTarget | null): boolean =>
  target instanceof HTMLTextAreaElement && target.getAttribute('aria-label') === 'Message';

export interface JumpToEntry {
  /** The row to show; null if the address names no entry. */
  target: Target | null;
  /** The text to mark there. */
  marked: string | null;
}

/** Shows the entry that the address names (`?entry=12&mark=words`), also one that is not loaded yet or folded away. */
export function useJumpToEntry(
  { entries, items }: GrowingItems,
  earlier: { left: number; failed: boolean; loadAll: () => void },
): JumpToEntry {
  const [params] = useSearchParams();
  const { key } = useLocation();
  const wanted = Number(params.get('entry') ?? Number.NaN);
  const [target, setTarget] = useState<Target | null>(null);
  /** The address that was followed last: what comes later must not scroll away from where the reader is by then. */
  const [followed, setFollowed] = useState<string | null>(null);
  const isDue = Number.isInteger(wanted) && followed !== key && entries.length > 0;
  const isMissing = isDue && earlier.left >= wanted;

  const loadRest = useEffectEvent(() => {
    if (!earlier.failed) earlier.loadAll();
  });
  useEffect(() => {
    if (isMissing) loadRest();
  }, [isMissing]);

  const show = useEffectEvent(() => {
    const entry = entries.find((one: TranscriptEntry) => one.index === wanted);
    const place = entry === undefined ? null : positionOfEntry(items, entry);
    setFollowed(key);
    if (place === null) return;
    for (const name of place.open) useSessionUi.getState().setOpen(name, true);
    setTarget({ index: place.row });
  });
  const isThere = isDue && !isMissing;
  useEffect(() => {
    if (isThere) show();
  }, [isThere]);

  return { target: Number.isInteger(wanted) ? target : null, marked: params.get('mark') };
}

/** Finds in the transcript, and folds all of it. */
export function TranscriptTools({ stage }: { stage: StageView }) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const foldAll = () => {
    const entries = cache.getQueryData(transcriptQuery(stage.id).queryKey)?.entries ?? [];
    useSessionUi.getState().setAllOpen(foldKeys(transcriptItems(entries)), false);
  };
  const find = () => {
    const isShown = document.querySelector('section[aria-label="Transcript"]') !== null;
    if (!isShown) void navigate(`/stages/${stage.id}`);
    useTranscriptFind.getState().start(stage.id);
  };
  return (
    <Group gap="xs" ml="auto" wrap="nowrap">
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Find in transcript"
        title="Find in transcript (/)"
        onClick={find}
      >
        <IconSearch size={16} />
      </ActionIcon>
      <ActionIcon variant="subtle" color="gray" aria-label="Fold all" title="Fold all" onClick={foldAll}>
        <IconFold size={16} />
      </ActionIcon>
    </Group>
  );
}
