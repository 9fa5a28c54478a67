import {
  formatUsd,
  type SessionSummary,
  type StageView,
  shortDuration,
  type TranscriptEntry,
} from '@callboard/contract';
import { outcomeText } from '../find.ts';
import type { Style } from '../style.ts';
import { cut, indented, safeJson, visibleLine, visibleLines } from '../text.ts';
import { waitingText } from '../waiting-words.ts';

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
export function entryLines(entry: TranscriptEntry, position: TextPosition): string[] {
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
export const claudeHeading = (at: string, position: TextPosition): string => headingOf('claude', at, position, null);

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
