import { fieldsOf, type PendingRequest, questionsOf, type StageId } from '@callboard/contract';
import { type Transport, TransportError } from '@callboard/contract/client';
import { CliError, UsageError } from '../../errors.ts';
import type { PageOf } from '../api-client.ts';
import { allowRequest, answerOf, fieldValueOf, idsOf, needsAnswer, sendAnswer } from '../approvals.ts';
import { cut, displayWidth, visibleLine } from '../text.ts';

export interface WatchKeysDeps {
  readonly api: Transport;
  readonly pageOf: PageOf;
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
    work({ api: deps.api, pageOf: deps.pageOf, ask: lines.ask, say: (line) => deps.print([`  ${line}`]) })
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

/** How long a request must have been drawn, with no key pressed, before a key decides it. */
const CHECK_INTERVAL_MS = 500;

/**
 * Whether a key may decide the request on the screen. Nothing is decided by a key that was pressed before the request had been drawn whole
 * for half a second, that is a part of what was pasted, or while something else was printed below it.
 */
export interface Arming {
  /** The request was drawn whole, at the end of the screen. */
  drawn(): void;
  /** Something was printed below it, or it is no longer open. */
  covered(): void;
  isShown(): boolean;
  /** A key was pressed. Returns whether it may decide; one that came too early begins the half second again. */
  press(isAlone: boolean): boolean;
}

/** @param now milliseconds on a monotonic clock */
export function createArming(now: () => number): Arming {
  let since: number | null = null;
  return {
    drawn: () => {
      since = now();
    },
    covered: () => {
      since = null;
    },
    isShown: () => since !== null,
    press: (isAlone) => {
      if (since === null) return false;
      if (isAlone && now() - since >= CHECK_INTERVAL_MS) return true;
      since = now();
      return false;
    },
  };
}

export interface KeyDeps {
  readonly api: Transport;
  readonly pageOf: PageOf;
  /** Has the person type a line; null if they go back. */
  readonly ask: (prompt: string) => Promise<string | null>;
  readonly say: (line: string) => void;
}

/** Returns what the keys do with a request, for the line below it. */
export function keysFor(request: PendingRequest): string {
  if (needsAnswer(request)) return 'r answer · d decline · m message · Ctrl-C leave';
  if (request.kind === 'plan')
    return 'a accept, then ask for each edit · e accept, then edit freely · d send back · m message · Ctrl-C leave';
  return 'a allow · d deny · m message · Ctrl-C leave';
}

/** Whether a key decides a request, or begins to. */
const isDeciding = (key: string, request: PendingRequest): boolean =>
  key === 'd' || (needsAnswer(request) ? key === 'r' : key === 'a' || (key === 'e' && request.kind === 'plan'));

/**
 * Does what a key stands for. Resolves with whether an answer was accepted; says why not, otherwise.
 * @throws whatever is no refusal of the API
 */
async function decideByKey(key: string, request: PendingRequest, deps: KeyDeps): Promise<boolean> {
  try {
    if (key === 'r') return await answerByKeys(request, deps);
    if (key === 'd') return await denyByKeys(request, deps);
    deps.say('Sending...');
    const mode = key === 'e' ? 'acceptEdits' : 'default';
    await allowRequest(deps, request, { mode });
    return true;
  } catch (error) {
    if (!(error instanceof TransportError || error instanceof CliError)) throw error;
    deps.say(visibleLine(error.message, 'prose'));
    return false;
  }
}

async function denyByKeys(request: PendingRequest, { api, ask, say }: KeyDeps): Promise<boolean> {
  const what = request.kind === 'plan' ? 'What should change?' : 'Tell Claude why (optional).';
  const reason = await ask(`${what} Enter sends, Esc goes back: `);
  if (reason === null) return false;
  say('Sending...');
  const text = reason.trim() === '' ? {} : { reason };
  await api.command('approve_tool', { ...idsOf(request), decision: 'deny', ...text });
  return true;
}

async function answerByKeys(request: PendingRequest, deps: KeyDeps): Promise<boolean> {
  const texts: string[] = [];
  for (const { prompt, check, toText } of fieldsToAsk(request)) {
    const text = await askUntilRight(prompt, check, deps);
    if (text === null) return false;
    texts.push(...toText(text));
  }
  deps.say('Sending...');
  await sendAnswer(deps.api, request, texts);
  return true;
}

interface Asked {
  readonly prompt: string;
  /** @throws UsageError */
  readonly check: (text: string) => void;
  readonly toText: (text: string) => string[];
}

function fieldsToAsk(request: PendingRequest): Asked[] {
  if (request.kind !== 'elicitation') {
    return questionsOf(request.input).map((question, index) => ({
      prompt: `Answer ${index + 1} (number, label or words): `,
      check: (text) => void answerOf(question, text),
      toText: (text) => [text],
    }));
  }
  return fieldsOf(request.input).map((field) => ({
    prompt: `${visibleLine(field.name, 'prose')}${field.required ? '' : ' (optional)'}: `,
    check: (text) => {
      if (text.trim() !== '') fieldValueOf(field, text);
      else if (field.required) throw new UsageError(`${field.name} is required.`);
    },
    toText: (text) => (text.trim() === '' ? [] : [`${field.name}=${text}`]),
  }));
}

async function askUntilRight(prompt: string, check: Asked['check'], { ask, say }: KeyDeps): Promise<string | null> {
  for (;;) {
    const text = await ask(prompt);
    if (text === null) return null;
    try {
      check(text);
      return text;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      say(visibleLine(error.message, 'prose'));
    }
  }
}

export interface LineEditorOptions {
  readonly prompt: string;
  readonly columns: () => number;
  readonly write: (text: string) => void;
  /** Called once: with the text, or with null if the person went back. */
  readonly onEnd: (text: string | null) => void;
}

/** A line that a person types at the end of the screen. Enter sends it, Escape goes back. */
export interface LineEditor {
  key(key: string): void;
  /** Line breaks of what is pasted stay in the text and send nothing. */
  paste(text: string): void;
}

const ENTER = /^[\r\n]$/;
const ERASE = /^[\x7f\b]$/;
/** Ctrl-U. */
const CLEAR = '\x15';
const ESCAPE = '\x1b';

/** Draws an empty line. */
function createLineEditor({ prompt, columns, write, onEnd }: LineEditorOptions): LineEditor {
  let text = '';
  const draw = () => {
    const room = Math.max(10, columns() - displayWidth(prompt) - 1);
    write(`\r\x1b[K${prompt}${tailOf(visibleLine(text, 'command') + (text.endsWith(' ') ? ' ' : ''), room)}`);
  };
  const end = (result: string | null) => {
    write('\r\x1b[K');
    onEnd(result);
  };
  draw();
  return {
    key: (key) => {
      if (ENTER.test(key)) return end(text);
      if (key === ESCAPE) return end(null);
      if (key === CLEAR) text = '';
      else if (ERASE.test(key)) text = [...text].slice(0, -1).join('');
      else if (!/\p{Cc}/u.test(key)) text += key;
      draw();
    },
    paste: (pasted) => {
      text += pasted.replace(/\r\n?/g, '\n');
      draw();
    },
  };
}

/** The end of a long line, where the person types. */
function tailOf(text: string, room: number): string {
  if (displayWidth(text) <= room) return text;
  const reversed = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment).reverse();
  let tail = '';
  for (const segment of reversed) {
    if (displayWidth(segment + tail) > room - 1) break;
    tail = segment + tail;
  }
  return cut(`…${tail}`, room);
}
