import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useBoardUi } from '../model/board-ui.ts';
import type { GraphLayout } from '../model/graph-layout.ts';

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
