import {
  formatUsd,
  type SessionSummary,
  type StageView,
  shortDuration,
  type TextDelta,
  type TranscriptEntry,
} from '@callboard/contract';
import { outcomeText } from '../find.ts';
import { cut, displayWidth, indented, type Style, safeJson, visibleLine, visibleLines } from '../text.ts';
import { waitingText } from '../waiting-text.ts';

export interface TranscriptScreenOptions {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly place: () => TextPosition;
  readonly now: () => Date;
}

/** Draws a transcript line after line, the newest text while it streams. */
export interface TranscriptScreen {
  /** Prints whole lines, after the end of streamed text. */
  lines(lines: readonly string[]): void;
  /** Prints an entry; of text that was streamed, only what is missing. */
  entry(entry: TranscriptEntry): void;
  /** Streams text. Text with a gap before it waits for its entry. */
  delta(delta: TextDelta): void;
}

interface Live {
  readonly blockId: string;
  readonly flow: Flow;
  /** How many characters (UTF-16) are drawn. */
  shown: number;
}

/** Creates a screen that begins at the start of a line. */
export function createTranscriptScreen({ write, columns, place, now }: TranscriptScreenOptions): TranscriptScreen {
  let live: Live | null = null;
  /** Streamed texts that something else was printed after, before they were whole. */
  const broken = new Map<string, number>();
  /** Texts that are drawn whole. The live text of a running reply may name them once more. */
  const whole = new Set<string>();

  function lines(list: readonly string[]): void {
    endLive();
    for (const line of list) write(`${line}\n`);
  }

  function endLive(): void {
    if (live === null) return;
    live.flow.end();
    broken.set(live.blockId, live.shown);
    live = null;
  }

  function endOfText(entry: Extract<TranscriptEntry, { kind: 'text' }>): void {
    whole.add(entry.blockId);
    if (live?.blockId === entry.blockId) {
      live.flow.put(entry.text.slice(live.shown));
      live.flow.end();
      live = null;
      return;
    }
    const shown = broken.get(entry.blockId) ?? 0;
    broken.delete(entry.blockId);
    const rest = entry.text.slice(shown);
    if (shown === 0 || rest.trim() !== '') lines(entryLines({ ...entry, text: rest }, place()));
  }

  return {
    lines,
    entry: (entry) => (entry.kind === 'text' ? endOfText(entry) : lines(entryLines(entry, place()))),
    delta: ({ blockId, kind, text, offset, parentToolUseId }) => {
      if (kind !== 'text' || parentToolUseId !== null || whole.has(blockId)) return;
      if (live?.blockId !== blockId) {
        const shown = broken.get(blockId) ?? 0;
        if (offset > shown) return;
        endLive();
        broken.delete(blockId);
        if (shown === 0) write(`${claudeHeading(now().toISOString(), place())}\n`);
        live = { blockId, flow: createFlow(write, columns), shown };
      }
      const from = live.shown - offset;
      if (from < 0 || from >= text.length) return;
      live.flow.put(text.slice(from));
      live.shown += text.length - from;
    },
  };
}

/** Where text is drawn. */
export interface TextPosition {
  readonly width: number;
  readonly style: Style;
}

const INDENT = '  ';
/** How much of a tool's result is shown. */
const RESULT_LINES = 4;
const RESULT_TEXT = 4_000;

/** Returns an entry of the transcript as lines; none for what a terminal leaves out. */
function entryLines(entry: TranscriptEntry, position: TextPosition): string[] {
  const { style, width } = position;
  switch (entry.kind) {
    case 'user':
      return [
        headingOf('you', entry.at, position, entry.by),
        ...indented(visibleLines(entry.text, 'prose'), INDENT, width),
        ...entry.attachments.map(({ name }) => style.dim(`${INDENT}attached: ${visibleLine(name, 'command')}`)),
      ];
    case 'text':
      return [claudeHeading(entry.at, position), ...indented(visibleLines(entry.text, 'prose'), INDENT, width)];
    case 'thinking':
      return [];
    case 'tool-use':
      return [cut(`${INDENT}> ${actionOf(entry)}`, width)];
    case 'tool-result':
      return resultLines(entry, position);
    case 'decision': {
      const asked = visibleLine(entry.decision.asked, 'command') || entry.decision.toolName;
      const line = `${asked}: ${outcomeText(entry.decision)}`;
      return indented([entry.decision.outcome === 'denied' ? style.fail(line) : style.good(line)], INDENT, width);
    }
    case 'turn-end':
      return [turnLine(entry, style)];
    case 'notice':
      return indented([noticeColour(entry.level, style)(visibleLine(entry.text, 'prose'))], '! ', width);
    case 'unknown':
      return indented([style.dim(safeJson(entry.raw).slice(0, RESULT_TEXT))], INDENT, width);
    default:
      return entry satisfies never;
  }
}

/** The line above what Claude writes. */
const claudeHeading = (at: string, position: TextPosition): string => headingOf('claude', at, position, null);

function headingOf(who: string, at: string, { style }: TextPosition, by: string | null): string {
  const name = by === null ? '' : ` (${visibleLine(by, 'prose')})`;
  return `${style.bold(who)} ${style.dim(`${timeOf(at)}${name}`)}`;
}

const timeOf = (at: string): string => new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

function actionOf({ toolName, input }: Extract<TranscriptEntry, { kind: 'tool-use' }>): string {
  if (typeof input.command === 'string') return visibleLine(`$ ${input.command}`, 'command');
  const object = Object.values(input).find((value) => typeof value === 'string') ?? '';
  return visibleLine(`${toolName} ${String(object).slice(0, RESULT_TEXT)}`, 'command');
}

function resultLines(
  { text, isError }: Extract<TranscriptEntry, { kind: 'tool-result' }>,
  { width, style }: TextPosition,
) {
  const lines = visibleLines(text.slice(0, RESULT_TEXT).trimEnd(), 'code').filter((line) => line.trim() !== '');
  const shown = lines.slice(0, RESULT_LINES).map((line) => cut(`${INDENT}  ${line}`, width));
  const more = lines.length > RESULT_LINES ? [`${INDENT}  ...`] : [];
  return [...shown, ...more].map(isError ? style.fail : style.dim);
}

function turnLine(
  { outcome, message, durationMs, costUsd }: Extract<TranscriptEntry, { kind: 'turn-end' }>,
  style: Style,
) {
  const facts = [
    ...(durationMs === null ? [] : [shortDuration(durationMs)]),
    ...(costUsd === null ? [] : [formatUsd(costUsd)]),
    ...(message === null || outcome === 'succeeded' ? [] : [visibleLine(message, 'prose')]),
  ];
  const line = [`-- turn ${outcome}`, ...facts].join(', ');
  return outcome === 'succeeded' ? style.dim(line) : style.fail(line);
}

const noticeColour = (level: 'info' | 'warning' | 'error', style: Style): ((text: string) => string) =>
  level === 'error' ? style.fail : level === 'warning' ? style.call : style.dim;

/** Returns how a stage stands, in a few words. */
export function standing({
  completedAt,
  merged,
  session,
}: Pick<StageView, 'completedAt' | 'merged' | 'session'>): string {
  if (completedAt !== null)
    return merged === null
      ? 'Done, not merged.'
      : `Done, merged ${merged.commit.slice(0, 7)} into ${visibleLine(merged.into, 'command')}.`;
  return session === null ? 'Not started.' : sessionText(session);
}

function sessionText(session: SessionSummary): string {
  const { state, alarm, atGate, lastTurn, terminal } = session;
  if (alarm !== null) return `Security alarm: ${visibleLine(alarm.detail, 'prose')}`;
  if (terminal !== null) return 'Continued in a terminal.';
  switch (state) {
    case 'starting':
      return 'Starting.';
    case 'busy':
      return 'Running.';
    case 'waiting':
      return 'Waiting for an answer.';
    case 'failed':
      return `Could not start${lastTurn?.message == null ? '' : `: ${visibleLine(lastTurn.message, 'prose')}`}`;
    case 'idle':
    case 'ended': {
      const waits = waitingText(session);
      if (waits !== null) return `Stopped: ${waits}.`;
      if (atGate) return 'Phase finished; callboard advance starts the next one.';
      return lastTurn?.outcome === 'succeeded' ? 'Ready for review.' : 'Stopped.';
    }
    default:
      return state satisfies never;
  }
}

/** Streamed text on a terminal, broken at words. */
export interface Flow {
  /** Writes more of the text; the last word only when it is known to be whole. */
  put(text: string): void;
  /** Writes what is left and ends the line. */
  end(): void;
}

/** Begins an indented text at the start of a line. */
function createFlow(write: (text: string) => void, columns: () => number): Flow {
  let column = 0;
  let held = '';
  const newLine = () => {
    write('\n');
    column = 0;
  };
  const word = (text: string) => {
    if (text === '') return;
    const width = displayWidth(text);
    if (column > INDENT.length && column + width > columns()) newLine();
    if (column === 0) {
      write(INDENT);
      column = INDENT.length;
    }
    write(text);
    column += width;
  };
  const space = () => {
    if (column === 0) word('');
    if (column >= columns() - 1) return;
    write(' ');
    column += 1;
  };
  const whole = (text: string) => {
    visibleLines(text, 'prose').forEach((line, index) => {
      if (index > 0) newLine();
      for (const part of line.split(/( )/)) {
        if (part === ' ') space();
        else word(part);
      }
    });
  };
  return {
    put: (text) => {
      held += text;
      const end = Math.max(held.lastIndexOf(' '), held.lastIndexOf('\n')) + 1;
      whole(held.slice(0, end));
      held = held.slice(end);
    },
    end: () => {
      whole(held);
      held = '';
      if (column > 0) newLine();
    },
  };
}
