import { Button } from '@mantine/core';
import clsx from 'clsx';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { count } from '../../../lib/format.ts';
import css from './content.module.css';
import { useFreeHeight } from './use-free-height.ts';

const LINE_PX = 20;

/** Returns how many lines are at least partly hidden: lines of a text or diff, else rows as drawn. */
function hiddenLines(box: HTMLElement): number {
  const { bottom } = box.getBoundingClientRect();
  const lines = [...box.querySelectorAll('[data-line]')];
  if (lines.length === 0) return Math.ceil((box.scrollHeight - box.clientHeight) / LINE_PX);
  return lines.filter((line) => line.getBoundingClientRect().bottom > bottom + 1).length;
}

/** Content that may be long: its beginning, how much is hidden, and the whole on demand. */
export function Clipped({ children, isWhole = false }: { children: ReactNode; isWhole?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const free = useFreeHeight(box);
  const [hidden, setHidden] = useState(0);
  const isLong = hidden > 0;
  const [whole, setWhole] = useState(isWhole);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || whole) return;
    const measure = () => setHidden(element.scrollHeight > element.clientHeight + 8 ? hiddenLines(element) : 0);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [whole]);
  return (
    <div>
      <div
        ref={box}
        className={clsx(css.clipped, whole && css.whole, isLong && !whole && css.cut)}
        style={free === null || whole ? undefined : { maxHeight: free }}
      >
        {children}
      </div>
      {isLong && (
        <Button variant="subtle" size="compact-sm" mt={4} aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : `Show ${count(hidden, 'more line')}`}
        </Button>
      )}
    </div>
  );
}
