import { type GraphLayout, NODE } from './graph-layout.ts';

/** Sideways counts this much more than straight ahead. */
const ASIDE = 3;

/**
 * The stage a key moves to: the arrow keys to the nearest one in that direction, J and K to the next and previous one in
 * the order of the table. Null for any other key, and at the edges.
 *
 * @param order the stages in the order of the table
 * @param key in small letters
 */
export function nodeAt(
  places: GraphLayout['places'],
  order: readonly string[],
  current: string,
  key: string,
): string | null {
  const at = order.indexOf(current);
  switch (key) {
    case 'j':
      return order[at + 1] ?? null;
    case 'k':
      return order[at - 1] ?? null;
    case 'home':
      return order[0] ?? null;
    case 'end':
      return order.at(-1) ?? null;
    case 'arrowright':
      return nearest(places, current, (dx, dy) => (dx >= NODE.width ? dx + ASIDE * Math.abs(dy) : null));
    case 'arrowleft':
      return nearest(places, current, (dx, dy) => (dx <= -NODE.width ? -dx + ASIDE * Math.abs(dy) : null));
    case 'arrowdown':
      return nearest(places, current, (dx, dy) => (dy >= NODE.height ? dy + ASIDE * Math.abs(dx) : null));
    case 'arrowup':
      return nearest(places, current, (dx, dy) => (dy <= -NODE.height ? -dy + ASIDE * Math.abs(dx) : null));
    default:
      return null;
  }
}

function nearest(
  places: GraphLayout['places'],
  current: string,
  distance: (dx: number, dy: number) => number | null,
): string | null {
  const from = places[current];
  if (from === undefined) return null;
  let [best, least]: [string | null, number] = [null, Number.POSITIVE_INFINITY];
  for (const [id, { x, y }] of Object.entries(places)) {
    const far = distance(x - from.x, y - from.y);
    if (far !== null && far < least) [best, least] = [id, far];
  }
  return best;
}
