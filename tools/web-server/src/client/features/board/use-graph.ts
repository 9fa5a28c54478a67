import type { StageId } from '@callboard/contract';
import {
  type PointerEvent,
  type RefObject,
  type SyntheticEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { useBoardUi } from '../../data/board-ui.ts';
import { useLetterKeys } from '../../ui/shortcuts.tsx';
import { useDocumentKeys } from './board-keys.ts';
import { type GraphLayout, NODE, type StageGraph } from './graph-model.ts';

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

const LEAST = 0.2;
const MAX = 2;
/** A graph that opens is never smaller, so that its titles can be read. */
const LEAST_AT_FIRST = 0.85;
const STEP = 1.25;

export interface GraphZoom {
  scale: number;
  zoomIn(): void;
  zoomOut(): void;
  /** Shows all of it. */
  fit(): void;
}

interface Point {
  x: number;
  y: number;
}

/**
 * How large the graph is drawn: by button, key, pinch, or wheel with Ctrl. What is under the pointer stays there. Keeps size
 * and place while another page is open.
 */
export function useGraphZoom(box: RefObject<HTMLElement | null>, layout: GraphLayout | null): GraphZoom {
  const [chosen, setChosen] = useState(() => useBoardUi.getState().graphPlace?.scale ?? null);
  /** Where to scroll to once the next size is drawn. */
  const target = useRef<Point | null>(useBoardUi.getState().graphPlace);
  const fitting = () => (layout === null || box.current === null ? 1 : fitOf(layout, box.current));
  const [first, setFirst] = useState(1);
  const isLaidOut = layout !== null;
  // Once, when there is something to show.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a later change of the graph leaves the size as it is
  useLayoutEffect(() => setFirst(Math.max(LEAST_AT_FIRST, Math.min(1, fitting()))), [isLaidOut]);
  const scale = chosen ?? first;
  const latest = useRef(scale);
  latest.current = scale;
  const zoomTo = useCallback(
    (wanted: number, at?: Point) => {
      const element = box.current;
      if (element === null) return;
      const next = Math.min(MAX, Math.max(LEAST, wanted));
      const { x, y } = at ?? { x: element.clientWidth / 2, y: element.clientHeight / 2 };
      const ratio = next / latest.current;
      target.current = { x: (element.scrollLeft + x) * ratio - x, y: (element.scrollTop + y) * ratio - y };
      setChosen(next);
    },
    [box],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each change of the size
  useLayoutEffect(() => {
    const [element, to] = [box.current, target.current];
    if (!isLaidOut || element === null || to === null) return;
    target.current = null;
    element.scrollLeft = to.x;
    element.scrollTop = to.y;
  }, [scale, isLaidOut]);
  useGestures(box, latest, zoomTo);
  useSavedPosition(box, latest);
  return {
    scale,
    zoomIn: () => zoomTo(latest.current * STEP),
    zoomOut: () => zoomTo(latest.current / STEP),
    fit: () => zoomTo(Math.min(1, fitting()), { x: 0, y: 0 }),
  };
}

const fitOf = ({ width, height }: GraphLayout, { clientWidth, clientHeight }: HTMLElement): number =>
  Math.min(clientWidth / width, clientHeight / height);

/** Where the person was is kept for when they come back from a stage. */
function useSavedPosition(box: RefObject<HTMLElement | null>, scale: RefObject<number>): void {
  useLayoutEffect(() => {
    const element = box.current;
    return () => {
      if (element !== null)
        useBoardUi.setState({ graphPlace: { scale: scale.current, x: element.scrollLeft, y: element.scrollTop } });
    };
  }, [box, scale]);
}

/** Wheel with Ctrl, which is also how a trackpad says that it is pinched, and two fingers. */
function useGestures(
  box: RefObject<HTMLElement | null>,
  scale: RefObject<number>,
  zoomTo: (wanted: number, at: Point) => void,
): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let pinched: { apart: number; scale: number } | null = null;
    const within = (x: number, y: number): Point => {
      const { left, top } = element.getBoundingClientRect();
      return { x: x - left, y: y - top };
    };
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomTo(scale.current * Math.exp(-event.deltaY / 300), within(event.clientX, event.clientY));
    };
    const onTouch = (event: TouchEvent) => {
      const [a, b] = event.touches;
      if (a === undefined || b === undefined) {
        pinched = null;
        return;
      }
      if (event.cancelable) event.preventDefault();
      const apart = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      pinched ??= { apart, scale: scale.current };
      const middle = within((a.clientX + b.clientX) / 2, (a.clientY + b.clientY) / 2);
      if (apart > 0) zoomTo((pinched.scale * apart) / pinched.apart, middle);
    };
    const hears = new AbortController();
    const options = { passive: false, signal: hears.signal };
    element.addEventListener('wheel', onWheel, options);
    for (const name of ['touchstart', 'touchmove', 'touchend', 'touchcancel'] as const)
      element.addEventListener(name, onTouch, options);
    return () => hears.abort();
  }, [box, scale, zoomTo]);
}

/**
 * Lays out the graph in a worker, for the shape of the box that it is shown in. Until a changed graph is laid out, the layout
 * of the one before it stays.
 *
 * @param graph the same object as long as nothing in it has changed
 * @returns null before the first layout
 */
export function useGraphLayout(graph: StageGraph, box: RefObject<HTMLElement | null>): GraphLayout | null {
  const [layout, setLayout] = useState<GraphLayout | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  useEffect(() => {
    const worker = new Worker(new URL('./graph-worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<GraphLayout>) => setLayout(data));
    worker.addEventListener('error', ({ message }) => setFailure(new Error(message || 'its worker did not start')));
    const { clientWidth = 0, clientHeight = 0 } = box.current ?? {};
    worker.postMessage({ graph, aspect: clientWidth / clientHeight || 1 });
    return () => worker.terminate();
  }, [graph, box]);
  // The boundary around the graph says so.
  if (failure !== null) throw failure;
  return layout;
}

/** A press that moves less is a click. */
const SLACK = 4;

/** Moves what a box shows with the mouse. Touch, wheel and keys scroll it without this. */
export function usePan(box: RefObject<HTMLElement | null>) {
  const from = useRef<{ x: number; y: number; isMoving: boolean } | null>(null);
  return {
    onPointerDown: ({ pointerType, button, clientX, clientY }: PointerEvent) => {
      from.current = pointerType === 'mouse' && button === 0 ? { x: clientX, y: clientY, isMoving: false } : null;
    },
    onPointerMove: ({ buttons, pointerId, clientX, clientY }: PointerEvent) => {
      const [start, element] = [from.current, box.current];
      if (start === null || element === null) return;
      if (buttons === 0) {
        from.current = null;
        return;
      }
      const [dx, dy] = [clientX - start.x, clientY - start.y];
      if (!start.isMoving && Math.hypot(dx, dy) < SLACK) return;
      if (!start.isMoving) element.setPointerCapture(pointerId);
      element.scrollLeft -= dx;
      element.scrollTop -= dy;
      from.current = { x: clientX, y: clientY, isMoving: true };
    },
    /** A click that ends a move opens nothing. */
    onClickCapture: (event: SyntheticEvent) => {
      if (from.current?.isMoving === true) {
        event.preventDefault();
        event.stopPropagation();
      }
      from.current = null;
    },
    onDragStart: (event: SyntheticEvent) => event.preventDefault(),
  };
}
