import { type PointerEvent, type RefObject, type SyntheticEvent, useRef } from 'react';

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
