import { diffWordsWithSpace } from 'diff';
import type { HighlightTree } from '../../../lib/highlighter.ts';
import type { PatchLine } from './patch.ts';

/** A part of a line with the class of its colour, and whether it is what changed within the line. */
export interface Piece {
  text: string;
  className: string;
  isChanged: boolean;
}

type Token = Omit<Piece, 'isChanged'>;
type Highlight = (text: string) => HighlightTree | null;

/** As many lines are coloured together: enough for comments and texts of several lines, and done within a frame. */
const CHUNK = 100;
/** A longer line, as of a minified file, is shown without colours and words. */
const MAX_LENGTH = 2_000;

/** Returns a function that gives the coloured parts of a line of a patch. It colours what is asked for, and remembers it. */
export function createLineColours(lines: readonly PatchLine[], highlight: Highlight | null): (at: number) => Token[] {
  const chunks = new Map<number, readonly (readonly Token[])[]>();
  return (at) => {
    const text = lines[at]?.text ?? '';
    if (highlight === null || text.length > MAX_LENGTH) return [{ text, className: '' }];
    const first = Math.floor(at / CHUNK) * CHUNK;
    const chunk = chunks.get(first) ?? coloured(lines.slice(first, first + CHUNK), highlight);
    chunks.set(first, chunk);
    return [...(chunk[at - first] ?? [{ text, className: '' }])];
  };
}

/** Colours the text before and the text after, each as a whole; an unchanged line has the colours of the latter. */
function coloured(lines: readonly PatchLine[], highlight: Highlight): readonly (readonly Token[])[] {
  const found: Token[][] = lines.map(({ text }) => [{ text, className: '' }]);
  for (const side of ['added', 'removed'] as const) {
    const places = lines.flatMap(({ kind, text }, at) =>
      (kind === side || kind === 'same') && text.length <= MAX_LENGTH ? at : [],
    );
    const tree = highlight(places.map((at) => lines[at]?.text).join('\n'));
    if (tree === null) continue;
    for (const [n, tokens] of tokenLines(tree).entries()) {
      const at = places[n];
      if (at !== undefined && (lines[at]?.kind === side || side === 'added')) found[at] = tokens;
    }
  }
  return found;
}

type Node = HighlightTree['children'][number];

function tokenLines(tree: HighlightTree): Token[][] {
  const lines: Token[][] = [[]];
  const add = (nodes: readonly Node[], className: string) => {
    for (const node of nodes) {
      if (node.type === 'element') {
        const own = node.properties.className;
        add(node.children as Node[], Array.isArray(own) ? own.join(' ') : className);
      } else if (node.type === 'text') {
        for (const [n, text] of node.value.split('\n').entries()) {
          if (n > 0) lines.push([]);
          if (text !== '') lines.at(-1)?.push({ text, className });
        }
      }
    }
  };
  add(tree.children, '');
  return lines;
}

/** Where a line differs from the one that it replaces, or that replaces it: pairs of start and end. */
export function changedRanges(own: string, other: string): [number, number][] {
  if (own.length > MAX_LENGTH || other.length > MAX_LENGTH) return [];
  const ranges: [number, number][] = [];
  let at = 0;
  for (const { value, added, removed } of diffWordsWithSpace(other, own)) {
    if (removed) continue;
    if (added) ranges.push([at, at + value.length]);
    at += value.length;
  }
  const changed = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  return changed > own.trim().length * 0.7 ? [] : ranges; // another line altogether
}

/** Cuts the parts where what changed begins and ends. */
export function withChanges(tokens: readonly Token[], ranges: readonly (readonly [number, number])[]): Piece[] {
  const borders = [...new Set(ranges.flat())];
  let start = 0;
  return tokens.flatMap(({ text, className }) => {
    const from = start;
    start += text.length;
    const cuts = [
      0,
      ...borders.map((border) => border - from).filter((cut) => cut > 0 && cut < text.length),
      text.length,
    ];
    return cuts.slice(0, -1).flatMap((cut, n) => {
      const part = text.slice(cut, cuts[n + 1]);
      const isChanged = ranges.some(([first, end]) => from + cut >= first && from + cut < end);
      return part === '' ? [] : { text: part, className, isChanged };
    });
  });
}
