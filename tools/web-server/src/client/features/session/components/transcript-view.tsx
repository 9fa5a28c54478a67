import type { PendingRequest, StageId, StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconArrowDown } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ComponentType, useMemo, useRef } from 'react';
import { errorText } from '../../../lib/api.ts';
import { useLiveText } from '../../../live/live-context.tsx';
import { transcriptQuery } from '../../../live/queries.ts';
import { hasEarlier, joinTranscripts, loadBefore, type Transcript } from '../../../live/transcript.ts';
import { useCommand } from '../../../live/use-command.ts';
import { FailureNote } from '../../../ui/note.tsx';
import { itemKey, storedBlocks, toolUseIds, transcriptItems } from '../model/transcript-items.ts';
import { ClaudeText, ItemView, Thinking } from './item-view.tsx';
import css from './transcript.module.css';
import { type TranscriptParts, TranscriptPartsProvider } from './transcript-parts.tsx';
import { useStickToEnd } from './use-stick-to-end.ts';

interface TranscriptViewProps {
  stage: StageView;
  /** The stage's own requests; each stands at its tool call. */
  pending: readonly PendingRequest[];
  RequestSlot: ComponentType<{ request: PendingRequest; takesKeys: boolean }>;
}

const NOTHING: Transcript = { entries: [], total: 0 };

/** All that happened in a stage's session, and what is being written just now. */
export function TranscriptView({ stage, pending, RequestSlot }: TranscriptViewProps) {
  const box = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const { atEnd, jump } = useStickToEnd(box, content);
  const { data: transcript = NOTHING, error, isPending } = useQuery(transcriptQuery(stage.id));
  const items = useMemo(() => transcriptItems(transcript.entries), [transcript]);
  const shownTools = useMemo(() => toolUseIds(transcript.entries), [transcript]);

  const slot = (request: PendingRequest) => (
    <div key={request.requestId} className={css.request}>
      <RequestSlot request={request} takesKeys={request === pending[0]} />
    </div>
  );
  const parts: TranscriptParts = {
    folder: stage.worktree?.path ?? null,
    waits: (toolUseId) => pending.some((request) => request.toolUseId === toolUseId),
    requestsOf: (toolUseId) => pending.filter((request) => request.toolUseId === toolUseId).map(slot),
  };
  return (
    <TranscriptPartsProvider value={parts}>
      <div className={css.frame}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard */}
        <section className={css.scroll} ref={box} aria-label="Transcript" tabIndex={0}>
          <div className={css.column} ref={content}>
            {hasEarlier(transcript) && <LoadEarlier stageId={stage.id} transcript={transcript} />}
            {error !== null && <FailureNote>The transcript could not be read. {errorText(error)}</FailureNote>}
            {items.map((item) => (
              <ItemView key={itemKey(item)} item={item} />
            ))}
            <LiveBlocks stageId={stage.id} transcript={transcript} />
            <Activity stage={stage} isEmpty={!isPending && items.length === 0} />
            {pending.filter((request) => !shownTools.has(request.toolUseId)).map(slot)}
          </div>
        </section>
        {!atEnd && (
          <Button
            className={css.jump}
            variant="default"
            size="compact-md"
            leftSection={<IconArrowDown size={16} />}
            onClick={jump}
          >
            Jump to end
          </Button>
        )}
      </div>
    </TranscriptPartsProvider>
  );
}

function LiveBlocks({ stageId, transcript }: { stageId: StageId; transcript: Transcript }) {
  const blocks = useLiveText(stageId);
  const stored = useMemo(() => storedBlocks(transcript.entries), [transcript]);
  return blocks
    .filter((block) => block.parentToolUseId === null && !stored.has(block.blockId))
    .map((block) =>
      block.kind === 'text' ? (
        <ClaudeText key={block.blockId} text={block.text} isLive />
      ) : (
        <Thinking key={block.blockId} text={block.text} isLive />
      ),
    );
}

function Activity({ stage, isEmpty }: { stage: StageView; isEmpty: boolean }) {
  const state = stage.session?.state;
  if (state === 'starting') return <p className={css.working}>Starting Claude …</p>;
  return isEmpty ? <p className={css.empty}>Nothing has happened yet.</p> : null;
}

function LoadEarlier({ stageId, transcript }: { stageId: StageId; transcript: Transcript }) {
  const cache = useQueryClient();
  const load = useCommand({
    run: (before: number) => loadBefore(stageId, before),
    failed: 'Earlier entries could not be read',
    done: (earlier) =>
      cache.setQueryData(transcriptQuery(stageId).queryKey, (old) => old && joinTranscripts(earlier, old)),
  });
  const first = transcript.entries[0]?.index ?? 1;
  return (
    <Button variant="default" size="compact-md" loading={load.isPending} onClick={() => load.mutate(first)} mx="auto">
      Show earlier ({first - 1} more)
    </Button>
  );
}
