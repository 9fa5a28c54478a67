import type { PendingRequest, StageId } from '@callboard/contract';
import { type Transport, TransportError } from '@callboard/contract/client';
import { visibleLine } from '../text.ts';
import { type Arming, createArming } from './arming.ts';
import { decideByKey, isDeciding, type KeyDeps } from './decide-by-key.ts';
import { createLineEditor, type LineEditor } from './line-editor.ts';

export interface WatchKeysDeps {
  readonly api: Transport;
  readonly stageId: StageId;
  /** Prints lines at the end of the screen, below streamed text. */
  readonly print: (lines: readonly string[]) => void;
  /** Returns a request whole, with what can be done about it. */
  readonly requestLines: (request: PendingRequest) => string[];
  /** Whether keys are read at all. */
  readonly hasKeys: () => boolean;
  readonly write: (text: string) => void;
  /** Returns how much was written to the screen so far. */
  readonly written: () => number;
  readonly columns: () => number;
  /** Milliseconds on a monotonic clock. */
  readonly clock: () => number;
  /** Called with an error that is no refusal. */
  readonly onBug: (error: unknown) => void;
}

/** The open requests of a stage, and the keys that answer them. */
export interface WatchKeys {
  /** Replaces the open requests. */
  setOpen(pending: readonly PendingRequest[]): void;
  opened(request: PendingRequest): void;
  closed(requestId: string): void;
  /** Prints now, or once the person has finished typing. If it wrote something, that covers the request above it. */
  output(print: () => void): void;
  key(key: string, isAlone: boolean): void;
  paste(text: string): void;
  stop(): void;
}

const HELP = '  [m message · c show the request again · Ctrl-C leave]';

/** Creates the keys of one watch. */
export function createWatchKeys(deps: WatchKeysDeps): WatchKeys {
  const arming = createArming(deps.clock);
  const lines = createLines(deps, arming);
  const shown = createShownRequest(deps, arming, lines.output);
  const { open, current, draw } = shown;

  function run(request: PendingRequest | null, work: (own: KeyDeps) => Promise<boolean>): void {
    shown.pause();
    work({ api: deps.api, ask: lines.ask, say: (line) => deps.print([`  ${line}`]) })
      .then((isDone) => {
        // The server has accepted the answer; its event may come a moment later.
        if (isDone && request !== null) open.delete(request.requestId);
        shown.resume();
      })
      .catch(deps.onBug);
  }

  return {
    setOpen: (pending) => {
      open.clear();
      for (const request of pending) open.set(request.requestId, request);
      arming.covered();
      draw();
    },
    opened: (request) => {
      const isFirst = open.size === 0;
      open.set(request.requestId, request);
      if (isFirst) draw();
    },
    closed: (requestId) => {
      const wasCurrent = current()?.requestId === requestId;
      if (!open.delete(requestId) || !wasCurrent) return;
      arming.covered();
      draw();
    },
    output: (print) =>
      lines.output(() => {
        const before = deps.written();
        print();
        if (deps.written() !== before) shown.covered();
      }),
    key: (key, isAlone) => {
      if (lines.key(key)) return;
      const request = current();
      const mayDecide = arming.press(isAlone);
      if (shown.isPaused()) return;
      if (key === 'm') run(null, (own) => sendMessage(deps, own));
      else if (key === '?') lines.output(() => deps.print([HELP]));
      else if (request !== null && key === 'c') draw();
      else if (request !== null && mayDecide && isDeciding(key, request))
        run(request, (own) => decideByKey(key, request, own));
    },
    paste: (text) => {
      if (!lines.paste(text)) arming.press(false);
    },
    stop: shown.stop,
  };
}

/** After this long without output, a covered request is named again. */
const QUIET_MS = 1_000;

/** Draws the request that is open for longest, and names it again when it was covered. */
function createShownRequest(deps: WatchKeysDeps, arming: Arming, output: (print: () => void) => void) {
  const open = new Map<string, PendingRequest>();
  let isPaused = false;
  let quiet: NodeJS.Timeout | undefined;
  let drawnAt = 0;
  const current = (): PendingRequest | null => open.values().next().value ?? null;

  function draw(): void {
    clearTimeout(quiet);
    const request = current();
    if (request === null || isPaused) return;
    output(() => {
      if (current() !== request) return; // it was decided while the person typed
      const more = open.size > 1 ? [`  ${open.size - 1} more wait.`] : [];
      deps.print(['', ...deps.requestLines(request), ...more]);
      arming.drawn();
      drawnAt = deps.clock();
    });
  }

  function remind(): void {
    if (current() !== null && !isPaused && !arming.isShown())
      output(() => deps.print(['  [a request waits: c shows it]']));
  }

  return {
    open,
    current,
    draw,
    /** Something was printed below the request. */
    covered: () => {
      arming.covered();
      clearTimeout(quiet);
      if (current() === null || !deps.hasKeys()) return;
      // What belongs to the request may arrive just after it: nobody can have read it by then.
      const isUnread = deps.clock() - drawnAt < QUIET_MS;
      quiet = setTimeout(isUnread ? draw : remind, QUIET_MS);
    },
    isPaused: () => isPaused,
    /** The person types, or an answer is being sent. */
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      draw();
    },
    stop: () => clearTimeout(quiet),
  };
}

async function sendMessage({ api, stageId }: WatchKeysDeps, { ask, say }: KeyDeps): Promise<boolean> {
  const text = await ask('Message (Enter sends, Esc goes back): ');
  if (text === null || text.trim() === '') return false;
  try {
    const { status } = await api.command('send_message', { stageId, message: text });
    say(status === 'queued' ? 'Queued.' : 'Sent.');
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    say(visibleLine(error.message, 'prose'));
  }
  return true;
}

/** The line that a person types, and the output that waits for it. */
function createLines({ columns, write, print }: WatchKeysDeps, arming: Arming) {
  let editor: LineEditor | null = null;
  const held: (() => void)[] = [];

  return {
    output: (show: () => void): void => {
      if (editor === null) show();
      else held.push(show);
    },
    ask: (prompt: string): Promise<string | null> =>
      new Promise((resolve) => {
        arming.covered();
        print([]); // ends a line of streamed text
        const onEnd = (text: string | null) => {
          editor = null;
          for (const show of held.splice(0)) show();
          resolve(text);
        };
        editor = createLineEditor({ prompt, columns, write, onEnd });
      }),
    /** Returns whether a line is being typed, which then takes the key. */
    key: (key: string): boolean => {
      if (editor === null) return false;
      editor.key(key);
      return true;
    },
    paste: (text: string): boolean => {
      if (editor === null) return false;
      editor.paste(text);
      return true;
    },
  };
}
