import { Button } from '@mantine/core';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import css from './messages.module.css';

/** The first lines of a message, and the whole of it on demand. */
export function QueuedText({ text, children }: { text: string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [isLong, setLong] = useState(false);
  const [isWhole, setWhole] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || isWhole) return;
    const measure = () => setLong(element.scrollHeight > element.clientHeight + 2);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [isWhole]);
  return (
    <div className={css.queuedText}>
      <div ref={box} className={isWhole ? undefined : css.firstLines}>
        {text}
      </div>
      {isLong && (
        <Button size="compact-xs" variant="subtle" ml={-8} aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show all'}
        </Button>
      )}
      {children}
    </div>
  );
}
