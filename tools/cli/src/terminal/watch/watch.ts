import {
  type BoardEvent,
  type BoardView,
  isActive,
  isRequestEvent,
  type PendingRequest,
  type StageId,
  type StageView,
  type TextDelta,
  type TranscriptEntry,
} from '@callboard/contract';
import { type StreamItem, type Transport, TransportError } from '@callboard/contract/client';
import { pause } from '@callboard/runtime/waits';
import { z } from 'zod';
import type { Invocation } from '../../commands/command.ts';
import { UsageError } from '../../errors.ts';
import { type ApiWork, type Hint, withApiClient } from '../api-client.ts';
import { needsAnswer } from '../approvals.ts';
import { findStage } from '../find.ts';
import { requestLines } from '../request-text.ts';
import { safeJson, styleOf, visibleLine } from '../text.ts';
import { createTranscriptScreen, standing, type TranscriptScreen } from './transcript-screen.ts';
import { createWatchKeys, keysFor, type WatchKeys } from './watch-keys.ts';

const options = { stage: z.string().optional() };
type Options = z.infer<z.ZodObject<typeof options>>;

/** `callboard watch`. */
export const watch = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, options, async (at) => {
    const { api, options: given, platform, hint } = at;
    if (given.stage === undefined) throw new UsageError(`name the stage: ${hint('watch STAGE')}`);
    const stage = findStage(await api.command('get_board', {}), given.stage, hint);
    const signals = platform.listenForStop();
    const over = new AbortController();
    const left = AbortSignal.any([signals.stop, platform.outputClosed()]);
    const items = followStage(api, stage.id, AbortSignal.any([left, over.signal]));
    try {
      if (given.json) for await (const item of items) platform.out(safeJson(item));
      else await show(items, { ...at, stage });
    } catch (error) {
      if (!left.aborted) throw error;
    } finally {
      over.abort();
      signals.release();
    }
  });

async function show(items: AsyncIterable<WatchItem>, at: ApiWork<Options> & { stage: StageView }): Promise<void> {
  const { platform, api, stage, hint, pageOf } = at;
  const { columns, isTerminal } = platform;
  let written = 0;
  const write = (text: string) => {
    written += text.length;
    platform.write(text);
  };
  const place = () => ({ width: columns(), style: styleOf(platform) });
  const screen = createTranscriptScreen({ write, columns, place, now: platform.now });
  const view: View = { title: stage.title, folder: stage.worktree?.path ?? null, standing: '', isReachable: true };
  const bug = Promise.withResolvers<never>();
  let stopKeys: (() => void) | null = null;
  const keys = createWatchKeys({
    api,
    pageOf,
    stageId: stage.id,
    print: screen.lines,
    write,
    columns,
    onBug: bug.reject,
    written: () => written,
    requestLines: (request) => [
      ...requestLines(request, { ...place(), title: view.title, folder: view.folder, now: platform.now() }),
      `  [${stopKeys === null ? commandFor(request, hint) : keysFor(request)}]`,
    ],
    hasKeys: () => stopKeys !== null,
    clock: () => performance.now(),
  });
  stopKeys = isTerminal ? platform.listenForKeys(createKeyReader(keys)) : null;
  if (stopKeys !== null) write(MARK_PASTES);
  const draw = drawer({ screen, keys, view, isLive: isTerminal });
  try {
    await Promise.race([drawAll(items, draw), bug.promise]);
  } finally {
    keys.stop();
    screen.lines([]);
    if (stopKeys !== null) write(UNMARK_PASTES);
    stopKeys?.();
  }
}

async function drawAll(items: AsyncIterable<WatchItem>, draw: (item: WatchItem) => void): Promise<void> {
  for await (const item of items) draw(item);
}

/** What to do about a request where no keys are read. */
const commandFor = (request: PendingRequest, hint: Hint): string =>
  needsAnswer(request)
    ? hint(`answer ${request.requestId} ANSWER...`)
    : `${hint(`allow ${request.requestId}`)}, or deny`;

interface View {
  title: string;
  folder: string | null;
  standing: string;
  isReachable: boolean;
}

interface DrawDeps {
  screen: TranscriptScreen;
  keys: WatchKeys;
  view: View;
  /** Whether text is drawn while it streams. */
  isLive: boolean;
}

/** Returns the function that draws each item. */
function drawer({ screen, keys, view, isLive }: DrawDeps): (item: WatchItem) => void {
  const say = (line: string) => keys.output(() => screen.lines([line]));
  const notify = (text: string, isUpdate = true) => {
    if (isUpdate && text !== view.standing) say(`-- ${text}`);
    view.standing = text;
  };
  return (item) => {
    if ('seq' in item && isRequestEvent(item)) return keys.opened(item.data);
    switch (item.type) {
      case 'stage':
        view.title = item.data.title;
        view.folder = item.data.worktree?.path ?? null;
        view.standing = standing(item.data);
        return say(`-- ${item.data.id} ${visibleLine(item.data.title, 'prose')}: ${view.standing}`);
      case 'pending':
        return keys.setOpen(item.data.pending);
      case 'transcript-entry':
        return keys.output(() => screen.entry(item.data));
      case 'text-delta':
        return isLive ? keys.output(() => screen.delta(item.data)) : undefined;
      case 'approval-resolved':
      case 'approval-cancelled':
        return keys.closed(item.data.requestId);
      case 'session-updated':
        // While Claude works or waits, the transcript and the requests tell.
        return notify(
          standing({ completedAt: null, merged: null, session: item.data }),
          !isActive(item.data.state) || item.data.alarm !== null,
        );
      case 'stage-updated':
        view.title = item.data.stage.title;
        view.folder = item.data.stage.worktree?.path ?? null;
        return item.data.stage.completedAt === null
          ? undefined
          : notify(standing({ ...item.data.stage, session: null }));
      case 'stage-removed':
        return say('-- The stage was deleted.');
      case 'orchestrator-status': {
        const isReachable = item.data.status === 'ready';
        if (isReachable !== view.isReachable)
          say(isReachable ? '-- Connected again.' : '-- Connection lost; trying again.');
        view.isReachable = isReachable;
        return;
      }
      default:
        return;
    }
  };
}

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

/** Switches the marks around pasted text on, and off. */
export const MARK_PASTES = '\x1b[?2004h';
export const UNMARK_PASTES = '\x1b[?2004l';

export interface KeyHandlers {
  /** One key; `isAlone` is false if it arrived together with others. */
  key(key: string, isAlone: boolean): void;
  /** Text that was pasted, whole. */
  paste(text: string): void;
}

const BEGIN = '\x1b[200~';
const END = '\x1b[201~';
/** The end of the sequence of an arrow or a function key. */
const COMPLETE = /^\p{Cc}(?:\[[0-9;?]*[@-~]|O.|[^[O])$/u;

/** Returns a function that takes the characters from a terminal. Arrows and function keys are left out. */
export function createKeyReader(on: KeyHandlers): (character: string, isAlone: boolean) => void {
  let sequence = '';
  let pasted: string | null = null;
  return (character, isAlone) => {
    if (pasted !== null) {
      pasted += character;
      if (!pasted.endsWith(END)) return;
      const text = pasted.slice(0, -END.length);
      pasted = null;
      on.paste(text);
      return;
    }
    if (sequence === '' && (character !== '\x1b' || isAlone)) {
      on.key(character, isAlone);
      return;
    }
    sequence += character;
    if (!COMPLETE.test(sequence)) return;
    if (sequence === BEGIN) pasted = '';
    sequence = '';
  };
}
