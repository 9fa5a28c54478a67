import type {
  BoardEvent,
  BoardView,
  PendingRequest,
  StageId,
  StageView,
  TextDelta,
  TranscriptEntry,
} from '@callboard/contract';
import { type StreamItem, type Transport, TransportError } from '@callboard/contract/client';
import { pause } from '@callboard/runtime/waits';

/**
 * What happens in a stage, in order. `stage` and `pending` come first, and again whenever events may be missing; each entry of the
 * transcript comes once. The rest are items of the event stream.
 */
export type WatchItem =
  | { type: 'stage'; data: StageView }
  | { type: 'pending'; data: { pending: PendingRequest[] } }
  | { type: 'transcript-entry'; data: TranscriptEntry }
  | StreamItem;

/** How much of the transcript comes first. */
const NEWEST = 40;
const PAGE = 500;
const RETRY_MS = 500;

/**
 * Yields what happens in a stage until the signal aborts or the stage is deleted, also across lost connections.
 * @throws TransportError if trying again does not help (no login, an unknown stage)
 */
export async function* followStage(
  api: Transport,
  stageId: StageId,
  signal: AbortSignal,
): AsyncGenerator<WatchItem, void> {
  const read = <T>(work: () => Promise<T>) => retried(work, signal);
  let last = 0;
  const start = await read(() => api.command('get_board', {}, signal));
  yield* stateOf(start, stageId);
  let seen = start.seq;
  const { entries } = await read(() => api.command('get_transcript', { stageId, limit: NEWEST }, signal));
  for (const entry of entries) yield toItem(entry);
  last = entries.at(-1)?.index ?? 0;
  yield { type: 'pending', data: { pending: pendingOf(start, stageId) } };
  const { blocks } = await read(() => api.command('get_live_text', { stageId }, signal));
  for (const data of blocks) yield { type: 'text-delta', data };
  await api.command('watch', { stageIds: [stageId] }, signal);

  async function* newEntries(): AsyncGenerator<WatchItem, void> {
    for (;;) {
      const page = await read(() => api.command('get_transcript', { stageId, after: last, limit: PAGE }, signal));
      for (const entry of page.entries) yield toItem(entry);
      last = page.entries.at(-1)?.index ?? last;
      if (page.entries.length < PAGE) return;
    }
  }

  for await (const item of api.events({ since: start.seq }, signal)) {
    if (item.type === 'resync') {
      const board = await read(() => api.command('get_board', {}, signal));
      seen = board.seq;
      yield* newEntries();
      yield* stateOf(board, stageId);
      yield { type: 'pending', data: { pending: pendingOf(board, stageId) } };
    } else if (item.type === 'orchestrator-status') yield item;
    else if (!isOf(item, stageId) || ('seq' in item && item.seq <= seen)) continue;
    else if (item.type === 'transcript-appended') {
      if (item.data.index > last) yield* newEntries();
    } else {
      yield item;
      if (item.type === 'stage-removed') return;
    }
  }
}

const toItem = (data: TranscriptEntry): WatchItem => ({ type: 'transcript-entry', data });

const pendingOf = ({ pending }: BoardView, stageId: StageId): PendingRequest[] =>
  pending.filter((request) => request.stageId === stageId);

function* stateOf({ stages }: BoardView, stageId: StageId): Generator<WatchItem> {
  const stage = stages.find(({ id }) => id === stageId);
  if (stage !== undefined) yield { type: 'stage', data: stage };
}

type OfStage = Extract<BoardEvent, { data: { stageId: StageId } }> | { type: 'text-delta'; data: TextDelta };

const isOf = (item: StreamItem, stageId: StageId): item is Extract<StreamItem, OfStage> =>
  'stageId' in item.data && item.data.stageId === stageId;

/** Reads again while the server cannot be reached. @throws the signal's reason */
async function retried<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof TransportError) || !error.isTransient) throw error;
      await pause(RETRY_MS, signal);
      signal.throwIfAborted();
    }
  }
}
