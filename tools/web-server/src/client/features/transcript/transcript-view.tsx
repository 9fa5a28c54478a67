import {
  type Adopted,
  awaitsTasks,
  hasEnded,
  type PendingRequest,
  type RewindRecord,
  type SessionNow,
  type StageId,
  type StageView,
  type TranscriptEntry,
} from '@callboard/contract';
import { Box, Flex, Stack } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ComponentType, memo, useEffect, useMemo, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { boardQuery, stageOf, transcriptQuery } from '../../data/queries.ts';
import { hasEarlier, joinTranscripts, loadAllBefore, loadBefore, type Transcript } from '../../data/recent-events.ts';
import { useCommand } from '../../data/use-command.tsx';
import { count } from '../../lib/format.ts';
import { useOpen } from '../../lib/session-ui.ts';
import { toolTitle } from '../../lib/tool-text.ts';
import {
  type LiveBlock,
  useLiveBlocks,
  useLiveText,
  useSessionNow,
  useWatchedText,
} from '../../stream/stream-context.tsx';
import { Markdown, preloadMarkdown } from '../../ui/markdown.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { Hint, Indented, Pane, RowButton, Strip } from '../../ui/primitives.tsx';
import { Seen, TimeSince } from '../../ui/text.tsx';
import {
  locationOf,
  PromptFiles,
  rewoundBy,
  type TranscriptParts,
  TranscriptPartsProvider,
  useFolded,
} from './item-parts.tsx';
import { ClaudeText, ItemView, ThoughtFold } from './item-view.tsx';
import css from './transcript.module.css';
import { FindBar, useFind, useJumpToEntry, useTranscriptFind } from './transcript-find.tsx';
import { blockKey, type GrowingItems, growItems, pausesOne, type RowList } from './transcript-items.ts';
import { ASKS, VirtualRows } from './virtual-rows.tsx';

type RequestSlot = ComponentType<{ request: PendingRequest }>;

interface TranscriptViewProps {
  stage: StageView;
  /** The stage's own requests; each is shown at its tool call. */
  pending: readonly PendingRequest[];
  RequestSlot: RequestSlot;
}

const NOTHING: Transcript = { entries: [], total: 0 };
const NEVER: readonly RewindRecord[] = [];

/** Everything that happened in a stage's session, and the text being written right now. */
export function TranscriptView({ stage, pending, RequestSlot }: TranscriptViewProps) {
  useWatchedText(stage.id);
  useEffect(preloadMarkdown, []); // beside the entries
  const { data = NOTHING, error, isPending, refetch } = useQuery(transcriptQuery(stage.id));
  const isFinding = useTranscriptFind(({ open }) => open?.stageId === stage.id);
  const before = useBeforeCallboard(stage, isFinding);
  const transcript = useShown(data, before);
  const all = useEarlierEntries(stage.id, data);
  // What is folded away is not to be loaded by scrolling.
  const earlier =
    before?.isOpen === false && (data.entries[0]?.index ?? 0) <= before.adopted.lastEntry + 1
      ? { ...all, left: 0 }
      : all;
  const { goneBack = NEVER } = stage.session ?? {};
  const { items, openIds } = useFolded(useItems(transcript), goneBack, isFinding);
  const parts = useDeps(stage, { pending, RequestSlot, goneBack, openIds });
  const rows = useRows(stage, { items, pending, isPending, RequestSlot, goneBack });
  const find = useFind(stage.id, items, earlier);
  const jump = useJumpToEntry(items, earlier);
  return (
    <TranscriptPartsProvider value={parts}>
      {error !== null && (
        <ErrorNote lead="The transcript could not be read." error={error} retry={() => void refetch()} />
      )}
      {before !== null && <BeforeCallboardLine before={before} />}
      {find.isOpen && <FindBar find={find} />}
      <VirtualRows
        rows={rows}
        earlier={earlier}
        label="Transcript"
        saveAs={stage.id}
        target={find.target ?? jump.target}
        marked={find.isOpen ? find.text : jump.marked}
      />
    </TranscriptPartsProvider>
  );
}

/** The items of the transcript. Those of finished turns stay the same objects as it grows. */
function useItems({ entries }: Transcript): GrowingItems {
  const [known, setKnown] = useState(() => growItems(entries));
  if (known.entries === entries) return known;
  const next = growItems(entries, known);
  setKnown(next);
  return next;
}

interface PartsOptions extends Pick<RowsOptions, 'pending' | 'RequestSlot' | 'goneBack'> {
  /** The times whose taken back entries are shown. */
  openIds: ReadonlySet<string>;
}

function useDeps(stage: StageView, { pending, RequestSlot, goneBack, openIds }: PartsOptions): TranscriptParts {
  const { id: stageId } = stage;
  const folder = stage.worktree?.path ?? null;
  return useMemo(() => {
    const slot = (request: PendingRequest) => (
      <Box key={request.requestId} mt="sm" {...{ [ASKS]: request.requestId }}>
        <RequestSlot request={request} />
      </Box>
    );
    return {
      stageId,
      goneBack,
      folder,
      isOpen: ({ id }) => openIds.has(id),
      requestAt: (toolUseId) => pending.find((request) => request.toolUseId === toolUseId),
      requestsOf: (toolUseId) => pending.filter((request) => request.toolUseId === toolUseId).map(slot),
    };
  }, [stageId, folder, pending, RequestSlot, goneBack, openIds]);
}

interface RowsOptions {
  items: GrowingItems;
  pending: readonly PendingRequest[];
  isPending: boolean;
  RequestSlot: RequestSlot;
  goneBack: readonly RewindRecord[];
}

/** The rows: the stored items, the blocks being written, requests whose call is not there, and what Claude does now. */
function useRows(stage: StageView, { items: grown, pending, isPending, RequestSlot, goneBack }: RowsOptions): RowList {
  const { id: stageId } = stage;
  const blocks = useLiveBlocks(stageId);
  const isActive = isPending || hasActivity(stage);
  return useMemo(() => {
    const { entries, items, keys } = grown;
    const isStored = (blockId: string) => entries.some((entry) => 'blockId' in entry && entry.blockId === blockId);
    const live = blocks.filter(({ blockId }) => !isStored(blockId));
    const isShown = ({ toolUseId }: PendingRequest) =>
      entries.some((entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId);
    // A form that moves to its tool call would lose its input.
    const loose = isPending ? [] : pending.filter((request) => !isShown(request));
    const more = [
      ...live.map((block) => ({
        key: blockKey(block.blockId),
        content:
          block.kind === 'text' ? (
            <TextRow stageId={stageId} blockId={block.blockId} entry={null} />
          ) : (
            <LiveThought stageId={stageId} block={block} />
          ),
      })),
      ...loose.map((request) => ({
        key: `request:${request.requestId}`,
        content: (
          <div className={css.indent} {...{ [ASKS]: request.requestId }}>
            <RequestSlot request={request} />
          </div>
        ),
      })),
      ...(isActive ? [{ key: 'activity', content: <ActivityLine stageId={stageId} isReading={isPending} /> }] : []),
    ];
    const waiting = new Set(pending.map((request) => request.toolUseId));
    const holding = waiting.size === 0 ? [] : items.flatMap((item, at) => (pausesOne(item, waiting) ? [at] : []));
    const first = items.length + live.length;
    return {
      count: items.length + more.length,
      keyAt: (index) => (index < items.length ? keys[index] : more[index - items.length]?.key) ?? String(index),
      render: (index) => {
        const item = items[index];
        if (item === undefined) return more[index - items.length]?.content;
        const row =
          item.kind !== 'entry' || item.entry.kind !== 'text' ? (
            <ItemView item={item} />
          ) : (
            <TextRow stageId={stageId} blockId={item.entry.blockId} entry={item.entry} />
          );
        const isRewound = item.kind !== 'taken-back' && rewoundBy(goneBack, locationOf(item)) !== null;
        return isRewound ? <Indented opacity={0.7}>{row}</Indented> : row;
      },
      kept: [...holding, ...loose.map((_, at) => first + at)],
    };
  }, [grown, blocks, pending, isPending, isActive, stageId, RequestSlot, goneBack]);
}

/** Loads the entries before those that are loaded: a page at a time, or all of them. */
function useEarlierEntries(stageId: StageId, transcript: Transcript) {
  const cache = useQueryClient();
  const first = transcript.entries[0]?.index ?? 1;
  const add = (earlier: Transcript) =>
    void cache.setQueryData(transcriptQuery(stageId).queryKey, (old) => old && joinTranscripts(earlier, old));
  const page = useCommand({
    run: (before: number) => loadBefore(stageId, before),
    failed: 'Earlier entries could not be read',
    done: add,
  });
  const all = useCommand({
    run: (before: number) => loadAllBefore(stageId, before),
    failed: 'Earlier entries could not be read',
    done: add,
  });
  const mayLoad = !all.isPending && hasEarlier(transcript);
  return {
    left: hasEarlier(transcript) ? first - 1 : 0,
    isLoading: page.isPending || all.isPending,
    failed: page.isError || all.isError,
    load: () => {
      if (mayLoad && !page.isPending) page.mutate(first);
    },
    // A page that is under way is no reason to wait: entries are joined, each once.
    loadAll: () => {
      if (mayLoad) all.mutate(first);
    },
  };
}

/** In place of the transcript of a stage that was never started: its prompt. */
export function NotStarted({ stage }: { stage: StageView }) {
  return (
    <Pane aria-label="Prompt">
      <Stack gap="lg" align="flex-start">
        {stage.fork !== null && (
          <Note>
            Continues from <Link to={`/stages/${stage.fork.stageId}`}>{stage.fork.title}</Link>, before one of its
            messages: {stage.fork.conversationId !== null && 'Claude knows what was said there up to that point, and '}
            the worktree starts with the files as they were then.
          </Note>
        )}
        <h2>Prompt</h2>
        <Markdown text={stage.prompt} />
        <PromptFiles stage={stage} />
      </Stack>
    </Pane>
  );
}

/** Whether there is something to say at the end of the transcript. */
const hasActivity = ({ session }: StageView): boolean =>
  session !== null && (session.state === 'starting' || session.state === 'busy' || awaitsTasks(session));

/** The last line of the transcript: what Claude does now, and for how long. */
function ActivityLine({ stageId, isReading }: { stageId: StageId; isReading: boolean }) {
  const { data: session = null } = useQuery({
    ...boardQuery,
    select: (view) => stageOf(stageId)(view)?.session ?? null,
  });
  const now = useSessionNow(session);
  if (isReading)
    return (
      <div className={css.indent}>
        <Hint py="sm">Reading the transcript…</Hint>
      </div>
    );
  if (session === null || hasEnded(session.state)) return null;
  const { text, code } = session.state === 'starting' ? STARTING : activityText(now);
  return (
    <Flex component="p" className={css.indent} gap="sm" align="center" py="sm" c="dimmed" fz="row">
      <span className={css.pulse} aria-hidden />
      <span className="truncate">
        {text}
        {code !== null && (
          <>
            {' '}
            <code title={code}>
              <Seen text={code} kind="command" />
            </code>
          </>
        )}
      </span>
      <Box component="span" ml="auto" c="var(--faint)" className="figures">
        <TimeSince at={now !== null && 'since' in now ? now.since : session.stateSince} />
      </Box>
    </Flex>
  );
}

/** What Claude does now; `code` is a command or a path. */
export interface ActivityText {
  text: string;
  code: string | null;
}

const STARTING: ActivityText = { text: 'Starting Claude…', code: null };

/** Says what a session does now, for the end of its transcript. */
export function activityText(now: SessionNow | null): ActivityText {
  switch (now?.kind) {
    case 'tool':
      return now.isCommand ? { text: 'Running', code: now.action } : { text: now.action, code: null };
    case 'review':
      return { text: 'Reviewing the changes…', code: null };
    case 'check':
      return { text: 'Checking with', code: now.command };
    case 'background':
      return { text: 'Waiting for the background command', code: now.action };
    case 'preparing':
      return { text: `Preparing a call of ${toolTitle(now.toolName)}…`, code: null };
    case 'writing':
      return { text: 'Writing…', code: null };
    case 'thinking':
      return { text: 'Thinking…', code: null };
    case undefined:
      return { text: 'Working…', code: null };
    default:
      return now satisfies never;
  }
}

export interface BeforeCallboard {
  adopted: Adopted;
  isOpen: boolean;
  setOpen: (open: boolean) => void;
}

/** What was said before a conversation came to Callboard, folded away until somebody opens it, searches, or jumps there. */
function useBeforeCallboard({ id, adopted }: StageView, isFinding: boolean): BeforeCallboard | null {
  const [params] = useSearchParams();
  const wanted = Number(params.get('entry') ?? Number.NaN);
  const [isOpen, setOpen] = useOpen(`before:${id}`, wanted <= (adopted?.lastEntry ?? 0));
  if (adopted === null || adopted.lastEntry === 0) return null;
  return { adopted, isOpen: isOpen || isFinding, setOpen };
}

/** What is loaded of a transcript, without what is folded away. */
function useShown(transcript: Transcript, before: BeforeCallboard | null): Transcript {
  const after = before === null || before.isOpen ? 0 : before.adopted.lastEntry;
  return useMemo(
    () =>
      after === 0 ? transcript : { ...transcript, entries: transcript.entries.filter(({ index }) => index > after) },
    [transcript, after],
  );
}

/** The line above the transcript that opens and closes what was said before. */
function BeforeCallboardLine({ before: { adopted, isOpen, setOpen } }: { before: BeforeCallboard }) {
  return (
    <Strip p={0}>
      <RowButton px="lg" mih={44} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <IconChevronRight size={16} color="var(--muted)" aria-hidden />
        Before Callboard
        <Hint span size="xs" flex={1} truncate>
          {count(adopted.lastEntry, 'entry', 'entries')} from {adopted.folder}
        </Hint>
      </RowButton>
    </Strip>
  );
}

interface TextRowProps {
  stageId: StageId;
  blockId: string;
  /** Null while the text is being written. */
  entry: Extract<TranscriptEntry, { kind: 'text' }> | null;
}

/** A text of Claude's, from its first word on: once it is stored, what is on screen stays. */
const TextRow = memo(function TextRow({ stageId, blockId, entry }: TextRowProps) {
  const live = useLiveText(stageId, blockId);
  return <ClaudeText text={entry?.text ?? live} at={entry?.at ?? null} isLive={entry === null} />;
});

/** A thought that is being written. */
function LiveThought({ stageId, block }: { stageId: StageId; block: LiveBlock }) {
  const id = blockKey(block.blockId);
  const [isOpen] = useOpen(id, false);
  return (
    <ThoughtFold id={id} isLive>
      {isOpen && <LiveText stageId={stageId} blockId={block.blockId} />}
    </ThoughtFold>
  );
}

function LiveText({ stageId, blockId }: { stageId: StageId; blockId: string }) {
  return useLiveText(stageId, blockId);
}
