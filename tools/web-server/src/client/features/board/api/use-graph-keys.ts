import type { StageId } from '@callboard/contract';
import { useLetterKeys } from '../../../ui/shortcuts.ts';
import type { GraphLayout } from '../model/graph-layout.ts';
import { nodeAt } from '../model/graph-moves.ts';
import { useDocumentKeys } from './use-board-keys.ts';
import type { GraphZoom } from './use-graph-zoom.ts';

/** The link of a stage in the graph; its value is the stage's id. */
export const NODE_LINK = 'data-node';

/** Arrow keys, J and K move from stage to stage, from the first key on; + and - change the size, 0 shows all. */
export function useGraphKeys(layout: GraphLayout | null, order: readonly StageId[], zoom: GraphZoom): void {
  useDocumentKeys((event) => {
    const key = event.key.toLowerCase();
    if (layout === null || (key.length === 1 && !useLetterKeys.getState().on)) return false;
    if (size(key, zoom)) return true;
    const focused = document.activeElement?.getAttribute(NODE_LINK) ?? null;
    const isFree = event.target === document.body || key === 'j' || key === 'k';
    const next = focused === null ? (isFree ? firstFor(key, order) : null) : nodeAt(layout.places, order, focused, key);
    if (next === null) return focused !== null && key.startsWith('arrow');
    document.querySelector<HTMLElement>(`[${NODE_LINK}="${CSS.escape(next)}"]`)?.focus();
    return true;
  });
}

const FIRST: ReadonlySet<string> = new Set(['j', 'k', 'arrowup', 'arrowdown', 'arrowleft', 'arrowright']);
const firstFor = (key: string, order: readonly StageId[]): string | null =>
  FIRST.has(key) ? (order[0] ?? null) : null;

function size(key: string, zoom: GraphZoom): boolean {
  if (key === '+' || key === '=') zoom.zoomIn();
  else if (key === '-') zoom.zoomOut();
  else if (key === '0') zoom.fit();
  else return false;
  return true;
}
