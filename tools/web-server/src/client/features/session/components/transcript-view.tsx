import type { PendingRequest, StageId, StageView } from '@callboard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ComponentType, useMemo } from 'react';
import { transcriptQuery } from '../../../data/queries.ts';
import {
  hasEarlier,
  joinTranscripts,
  loadAllBefore,
  loadBefore,
  type Transcript,
} from '../../../data/transcript-pages.ts';
import { useCommand } from '../../../data/use-command.ts';
import { errorText } from '../../../lib/api-client.ts';
import { useStreamingText } from '../../../stream/stream-context.tsx';
import type { StreamingBlock } from '../../../stream/streaming-text.ts';
import { Markdown } from '../../../ui/markdown.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { blockKey, holdsOne, itemKeys, storedBlocks, toolUseIds, transcriptItems } from '../model/transcript-items.ts';
import { ClaudeText, ItemView, Thinking } from './item-view.tsx';
import head from './stage-head.module.css';
import css from './transcript.module.css';
import { type TranscriptParts, TranscriptPartsProvider } from './transcript-context.tsx';
import { ASKS } from './use-follow-end.ts';
import { type Row, VirtualRows } from './virtual-rows.tsx';

interface TranscriptViewProps {
  stage: StageView;
  /** The stage's own requests; each is shown at its tool call. */
  pending: readonly PendingRequest[];
  RequestSlot: ComponentType<{ request: PendingRequest }>;
}

const NOTHING: Transcript = { entries: [], total: 0 };

/** Everything that happened in a stage's session, and the text being written right now. */
export function TranscriptView({ stage, pending, RequestSlot }: TranscriptViewProps) {
  const { data: transcript = NOTHING, error, isPending } = useQuery(transcriptQuery(stage.id));
  const earlier = useEarlierEntries(stage.id, transcript);
  const blocks = useStreamingText(stage.id);
  const folder = stage.worktree?.path ?? null;

  const parts: TranscriptParts = useMemo(() => {
    const slot = (request: PendingRequest) => (
      <div key={request.requestId} className={css.request} {...{ [ASKS]: request.requestId }}>
        <RequestSlot request={request} />
      </div>
    );
    return {
      folder,
      requestAt: (toolUseId) => pending.find((request) => request.toolUseId === toolUseId),
      requestsOf: (toolUseId) => pending.filter((request) => request.toolUseId === toolUseId).map(slot),
    };
  }, [folder, pending, RequestSlot]);

  const stored = useMemo(() => storedRows(transcript, pending), [transcript, pending]);
  const loose = useMemo(() => {
    if (isPending) return []; // a form that moves to its tool call would lose its input
    const shown = toolUseIds(transcript.entries);
    return pending.filter((request) => !shown.has(request.toolUseId));
  }, [transcript, pending, isPending]);
  const rows: Row[] = [
    ...stored.rows,
    ...blocks.filter((block) => block.parentToolUseId === null && !stored.blocks.has(block.blockId)).map(liveRow),
    ...loose.map((request) => ({
      key: `request:${request.requestId}`,
      isKept: true,
      content: (
        <div className={css.indent} {...{ [ASKS]: request.requestId }}>
          <RequestSlot request={request} />
        </div>
      ),
    })),
    ...activityRow(stage, isPending),
  ];
  return (
    <TranscriptPartsProvider value={parts}>
      {error !== null && <FailureNote>The transcript could not be read. {errorText(error)}</FailureNote>}
      <VirtualRows rows={rows} earlier={earlier} label="Transcript" keepAs={stage.id} />
    </TranscriptPartsProvider>
  );
}

function storedRows(transcript: Transcript, pending: readonly PendingRequest[]) {
  const items = transcriptItems(transcript.entries);
  const keys = itemKeys(items);
  const waiting = new Set(pending.map((request) => request.toolUseId));
  const rows: Row[] = items.map((item, index) => ({
    key: keys[index] ?? '',
    isKept: holdsOne(item, waiting),
    content: <ItemView item={item} />,
  }));
  return { rows, blocks: storedBlocks(transcript.entries) };
}

function liveRow({ blockId, kind, text, start }: StreamingBlock): Row {
  const key = blockKey(blockId);
  const shown = start === 0 ? text : `… ${text}`;
  const content = kind === 'text' ? <ClaudeText text={shown} isLive /> : <Thinking id={key} text={shown} isLive />;
  return { key, isKept: false, content };
}

function activityRow(stage: StageView, isPending: boolean): Row[] {
  const words = activityWords(stage, isPending);
  if (words === null) return [];
  return [{ key: 'activity', isKept: false, content: <p className={css.working}>{words}</p> }];
}

function activityWords({ session }: StageView, isPending: boolean): string | null {
  if (isPending) return 'Reading the transcript …';
  if (session?.state === 'starting') return 'Starting Claude …';
  return session?.state === 'busy' ? 'Claude is working …' : null;
}

/** Loads the entries before those that are loaded: a page at a time, or all of them. */
function useEarlierEntries(stageId: StageId, transcript: Transcript) {
  const cache = useQueryClient();
  const first = transcript.entries[0]?.index ?? 1;
  const load = useCommand({
    run: ({ before, all }: { before: number; all: boolean }) => (all ? loadAllBefore : loadBefore)(stageId, before),
    failed: 'Earlier entries could not be read',
    done: (earlier) =>
      cache.setQueryData(transcriptQuery(stageId).queryKey, (old) => old && joinTranscripts(earlier, old)),
  });
  const start = (all: boolean) => {
    if (!load.isPending && hasEarlier(transcript)) load.mutate({ before: first, all });
  };
  return {
    left: hasEarlier(transcript) ? first - 1 : 0,
    isLoading: load.isPending,
    failed: load.isError,
    load: () => start(false),
    loadAll: () => start(true),
  };
}

/** In place of the transcript of a stage that was never started: its prompt. */
export function NotStarted({ stage }: { stage: StageView }) {
  return (
    <div className={head.ready}>
      <div className={head.readyInner}>
        <h2 className={head.sub}>What Claude will be told</h2>
        <Markdown text={stage.prompt} />
      </div>
    </div>
  );
}
