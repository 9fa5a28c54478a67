import { memoizeByObject } from '../../../lib/memoize.ts';
import { type Highlight, useHighlight } from '../../../ui/highlighted.tsx';
import { partners } from '../model/change-rows.ts';
import { changedRanges, createLineColours, type Piece, withChanges } from '../model/line-colours.ts';
import type { PatchLine } from '../model/patch.ts';

const partnersOf = memoizeByObject<readonly PatchLine[], (number | null)[]>(partners);

/** By patch and language; a patch is one array of lines for as long as it is loaded. */
const coloursOf = memoizeByObject((lines: readonly PatchLine[]) => {
  const known = new Map<string, { highlight: Highlight | null; colours: ReturnType<typeof createLineColours> }>();
  return (language: string | null, highlight: Highlight | null) => {
    const found = known.get(language ?? '');
    if (found !== undefined && found.highlight === highlight) return found.colours;
    const colour = language === null || highlight === null ? null : (text: string) => highlight(text, language);
    const colours = createLineColours(lines, colour);
    known.set(language ?? '', { highlight, colours });
    return colours;
  };
});

/** Returns a function that gives the parts of a line, coloured, with the words marked that changed in it. */
export function useColours(lines: readonly PatchLine[], language: string | null): (at: number) => Piece[] {
  const highlight = useHighlight(language !== null);
  const colours = coloursOf(lines)(language, highlight);
  return (at) => {
    const other = partnersOf(lines)[at] ?? null;
    const ranges = other === null ? [] : changedRanges(lines[at]?.text ?? '', lines[other]?.text ?? '');
    return withChanges(colours(at), ranges);
  };
}
