import { Button } from '@mantine/core';
import clsx from 'clsx';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import css from './content.module.css';

/** Something that may be long: its beginning, and the whole of it on demand. */
export function Clipped({ children }: { children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [isLong, setLong] = useState(false);
  const [whole, setWhole] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || whole) return;
    const measure = () => setLong(element.scrollHeight > element.clientHeight + 8);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [whole]);
  return (
    <div>
      <div ref={box} className={clsx(css.clipped, whole && css.whole, isLong && !whole && css.cut)}>
        {children}
      </div>
      {isLong && (
        <Button variant="subtle" size="compact-sm" mt={4} aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : 'Show the whole of it'}
        </Button>
      )}
    </div>
  );
}
