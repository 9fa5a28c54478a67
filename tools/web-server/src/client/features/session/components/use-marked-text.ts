import { type RefObject, useEffect } from 'react';

const NAME = 'found';
/** More of them help nobody. */
const MAX = 500;

/** Marks each occurrence of a text that is in the page, without changing the page's elements. */
export function useMarkedText(box: RefObject<HTMLElement | null>, text: string | null): void {
  useEffect(() => {
    const element = box.current;
    if (element === null || text === null || text === '' || !('highlights' in CSS)) return;
    let frame = 0;
    const mark = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesOf(element, text.toLowerCase())));
    };
    const markSoon = () => {
      frame ||= requestAnimationFrame(mark);
    };
    markSoon();
    const observer = new MutationObserver(markSoon);
    observer.observe(element, { childList: true, subtree: true, characterData: true });
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(NAME);
    };
  }, [box, text]);
}

function rangesOf(element: HTMLElement, text: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && ranges.length < MAX; node = walker.nextNode()) {
    const content = node.nodeValue?.toLowerCase() ?? '';
    if (content.length !== node.nodeValue?.length) continue; // the offsets would not fit
    for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + text.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + text.length);
      ranges.push(range);
    }
  }
  return ranges;
}
