import type { PendingRequest, RewindRecord, StageId, StageView } from '@callboard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ComponentType, useEffect, useMemo, useState } from 'react';
import { Link } from 'react-router';
import { transcriptQuery } from '../../../data/queries.ts';
import {
  hasEarlier,
  joinTranscripts,
  loadAllBefore,
  loadBefore,
  type Transcript,
} from '../../../data/transcript-pages.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { useLiveBlocks, useWatchedText } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Markdown, preloadMarkdown } from '../../../ui/markdown.tsx';
import { Note } from '../../../ui/note.tsx';
import { type GrowingItems, growItems } from '../model/growing-items.ts';
import type { RowList } from '../model/row-list.ts';
import { locationOf, rewoundBy } from '../model/taken-back.ts';
import { useTranscriptFind } from '../model/transcript-find.ts';
import { blockKey, pausesOne } from '../model/transcript-items.ts';
import { ActivityLine, hasActivity } from './activity-line.tsx';
import { BeforeCallboardLine, useBeforeCallboard, useShown } from './before-callboard.tsx';
import { FindBar } from './find-bar.tsx';
import { ItemView } from './item-view.tsx';
import { LiveThought, TextRow } from './live-rows.tsx';
import { PromptFiles } from './prompt-files.tsx';
import head from './stage-head.module.css';
import { useFolded } from './taken-back.tsx';
import css from './transcript.module.css';
import { type TranscriptParts, TranscriptPartsProvider } from './transcript-context.tsx';
import { useFind } from './use-find.ts';
import { ASKS } from './use-follow-end.ts';
import { useJumpToEntry } from './use-jump-to-entry.ts';
import { VirtualRows } from './virtual-rows.tsx';

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
      <div key={request.requestId} className={css.request} {...{ [ASKS]: request.requestId }}>
        <RequestSlot request={request} />
      </div>
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
        return isRewound ? <div className={css.takenBack}>{row}</div> : row;
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
    <div className={head.ready}>
      <div className={head.readyInner}>
        {stage.fork !== null && (
          <Note>
            Continues from <Link to={`/stages/${stage.fork.stageId}`}>{stage.fork.title}</Link>, before one of its
            messages: {stage.fork.conversationId !== null && 'Claude knows what was said there up to that point, and '}
            the worktree starts with the files as they were then.
          </Note>
        )}
        <h2 className={head.sub}>Prompt</h2>
        <Markdown text={stage.prompt} />
        <PromptFiles stage={stage} />
      </div>
    </div>
  );
}
