import { isActive, isRequestEvent, type PendingRequest, type StageView } from '@callboard/contract';
import { z } from 'zod';
import type { Invocation } from '../../commands/command.ts';
import { UsageError } from '../../errors.ts';
import { needsAnswer } from '../decide.ts';
import { type ApiWork, type Hint, withApiClient } from '../desk-command.ts';
import { findStage } from '../find.ts';
import { requestLines } from '../request-text.ts';
import { styleOf } from '../style.ts';
import { safeJson, visibleLine } from '../text.ts';
import { keysFor } from './decide-by-key.ts';
import { standing } from './entry-lines.ts';
import { followStage, type WatchItem } from './follow-stage.ts';
import { createKeyReader, MARK_PASTES, UNMARK_PASTES } from './key-reader.ts';
import { createTranscriptScreen, type TranscriptScreen } from './transcript-screen.ts';
import { createWatchKeys, type WatchKeys } from './watch-keys.ts';

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
  const { platform, api, stage, hint } = at;
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
