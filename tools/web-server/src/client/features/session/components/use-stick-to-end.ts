import { type RefObject, useCallback, useEffect, useState } from 'react';

const NEAR = 48;

/** Keeps a box at its end while it grows, unless somebody has scrolled up; whoever did stays where they are. */
export function useStickToEnd(box: RefObject<HTMLElement | null>, content: RefObject<HTMLElement | null>) {
  const [atEnd, setAtEnd] = useState(true);

  const jump = useCallback(() => {
    const element = box.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  }, [box]);

  useEffect(() => {
    const element = box.current;
    if (element === null || content.current === null) return;
    let stuck = true;
    let height = element.scrollHeight;
    const onScroll = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
      // What grew beneath the reader is no scrolling of theirs.
      if (!isNear && stuck && element.scrollHeight > height) return;
      height = element.scrollHeight;
      stuck = isNear;
      setAtEnd(isNear);
    };
    const onResize = () => {
      if (stuck) jump();
      height = element.scrollHeight;
    };
    const observer = new ResizeObserver(onResize);
    observer.observe(content.current);
    observer.observe(element);
    element.addEventListener('scroll', onScroll, { passive: true });
    jump();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
    };
  }, [box, content, jump]);

  return { atEnd, jump };
}
