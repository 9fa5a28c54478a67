import { exactDuration } from '../../lib/format.ts';
import type { Film, FilmStep } from './film.ts';

export const WIDTH = 1280;
export const HEIGHT = 720;
const EDGE = 64;
const ROW = 62;
const TOP = 150;
/** As many steps as stand in the picture. */
const ROWS = 7;
const SLIDE_MS = 300;

const NAMES = ['bg', 'surface', 'line', 'text', 'muted', 'accent', 'needs', 'fail', 'done'] as const;
export type Colors = Record<(typeof NAMES)[number], string>;

/** The colours of the page, so that a film is light or dark as it is. */
export function readColors(): Colors {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim() || 'gray';
  const [bg, surface, line, text, muted, accent, needs, fail, done] = NAMES.map(read);
  return { bg, surface, line, text, muted, accent, needs, fail, done } as Colors;
}

const font = (size: number, weight = 400) => `${weight} ${size}px "Inter Variable", system-ui, sans-serif`;

/** Draws the picture at a moment of the film. */
export function drawFilm(context: CanvasRenderingContext2D, film: Film, ms: number, colors: Colors): void {
  const seen = film.steps.filter(({ atMs }) => atMs <= ms);
  const now = seen.at(-1);
  context.fillStyle = colors.bg;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  write(context, film.title, { x: EDGE, y: 92, size: 40, weight: 600, color: colors.text, width: WIDTH - 2 * EDGE });
  if (now === undefined) return;
  const entering = Math.min(1, (ms - now.atMs) / SLIDE_MS);
  drawSteps(context, seen, entering, colors);
  drawLines(context, lineCount(seen, ms), colors);
  drawProgress(context, { share: ms / film.lengthMs, seen, now }, colors);
}

function drawSteps(
  context: CanvasRenderingContext2D,
  seen: readonly FilmStep[],
  entering: number,
  colors: Colors,
): void {
  const shown = seen.slice(-ROWS - 1);
  const isFull = seen.length > ROWS;
  // The list moves up by one row while the next step comes in.
  const shift = isFull ? entering : 0;
  context.save();
  context.beginPath();
  context.rect(0, TOP - 8, WIDTH, ROWS * ROW + 8);
  context.clip();
  for (const [index, step] of shown.entries()) {
    const isNew = index === shown.length - 1;
    const y = TOP + (index - shift) * ROW;
    context.globalAlpha = isNew ? entering : 1;
    drawStep(context, step, y, colors);
  }
  context.restore();
}

function drawStep(context: CanvasRenderingContext2D, step: FilmStep, y: number, colors: Colors): void {
  const color = step.tone === 'plain' ? (step.kind === 'prompt' ? colors.accent : colors.muted) : colors[step.tone];
  context.fillStyle = color;
  context.beginPath();
  context.arc(EDGE + 8, y + 24, step.kind === 'decision' || step.kind === 'end' ? 8 : 5, 0, 2 * Math.PI);
  context.fill();
  const isCode = step.kind === 'decision';
  const ink = step.kind === 'work' || step.kind === 'says' ? colors.muted : step.kind === 'end' ? color : colors.text;
  const size = step.kind === 'end' ? 30 : 24;
  const family = isCode ? '"JetBrains Mono Variable", monospace' : undefined;
  const weight = step.kind === 'end' || step.kind === 'prompt' ? 600 : 400;
  write(context, step.text, { x: EDGE + 36, y: y + 32, size, weight, color: ink, width: 760, family });
  if (step.detail !== '') write(context, step.detail, { x: EDGE + 36, y: y + 54, size: 16, color, width: 760 });
}

/** Grows from the step before to this one. */
function lineCount(seen: readonly FilmStep[], ms: number): { added: number; removed: number } {
  const [now, before] = [seen.at(-1), seen.at(-2)];
  if (now === undefined) return { added: 0, removed: 0 };
  const share = Math.min(1, (ms - now.atMs) / (2 * SLIDE_MS));
  const between = (from: number, to: number) => Math.round(from + (to - from) * share);
  return { added: between(before?.added ?? 0, now.added), removed: between(before?.removed ?? 0, now.removed) };
}

function drawLines(context: CanvasRenderingContext2D, lines: { added: number; removed: number }, colors: Colors): void {
  const x = WIDTH - EDGE - 260;
  write(context, `+${lines.added}`, { x, y: TOP + 70, size: 64, weight: 600, color: colors.done, width: 260 });
  write(context, `−${lines.removed}`, { x, y: TOP + 140, size: 64, weight: 600, color: colors.fail, width: 260 });
  write(context, 'lines', { x, y: TOP + 175, size: 20, color: colors.muted, width: 260 });
}

function drawProgress(
  context: CanvasRenderingContext2D,
  { share, seen, now }: { share: number; seen: readonly FilmStep[]; now: FilmStep },
  colors: Colors,
): void {
  const y = HEIGHT - 84;
  context.fillStyle = colors.line;
  context.fillRect(EDGE, y, WIDTH - 2 * EDGE, 4);
  context.fillStyle = colors.accent;
  context.fillRect(EDGE, y, (WIDTH - 2 * EDGE) * share, 4);
  const decisions = seen.filter(({ kind }) => kind === 'decision').length;
  const asked = decisions === 0 ? '' : `, asked ${decisions === 1 ? 'once' : `${decisions} times`}`;
  const text = `${exactDuration(now.sinceStartMs)}${asked}`;
  write(context, text, { x: EDGE, y: y + 40, size: 20, color: colors.muted, width: 800 });
}

interface Written {
  x: number;
  y: number;
  size: number;
  color: string;
  /** Longer texts are cut. */
  width: number;
  weight?: number;
  family?: string | undefined;
}

function write(
  context: CanvasRenderingContext2D,
  text: string,
  { x, y, size, color, width, weight, family }: Written,
): void {
  context.font = family === undefined ? font(size, weight) : `${weight ?? 400} ${size}px ${family}`;
  context.fillStyle = color;
  let shown = text;
  while (shown.length > 1 && context.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  context.fillText(shown, x, y);
}
