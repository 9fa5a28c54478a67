import type { Page } from 'playwright-core';
import { type FrameWork, recordFrames } from './frames.ts';

/** A row of the plain list: as high as the rows beside which it is measured, with this many words in its second line. */
interface PlainRow {
  height: number;
  words: number;
}

/**
 * Records the frames of a virtual list of equal rows: a title, a line and a button each, made without any framework from the
 * event that scrolls it. What it costs is what the browser needs on this machine, however good a page is.
 */
export async function recordPlainList(
  page: Page,
  row: PlainRow,
  wheel: (page: Page) => Promise<void>,
): Promise<FrameWork> {
  await page.goto('about:blank');
  await page.evaluate(showPlainList, row);
  await page.locator('#list').hover();
  return recordFrames('plain list', page, () => wheel(page));
}

function showPlainList({ height, words }: PlainRow): void {
  const COUNT = 5_000;
  const MORE = 4;
  const list = document.createElement('div');
  list.id = 'list';
  list.style.cssText = 'position: relative; height: 800px; overflow-y: auto; font: 13px/20px sans-serif';
  const room = document.createElement('div');
  room.style.height = `${COUNT * height}px`;
  list.append(room);
  document.body.append(list);
  const drawn = new Map<number, HTMLElement>();
  const make = (n: number): HTMLElement => {
    const row = document.createElement('div');
    row.style.cssText = `position: absolute; left: 0; right: 0; top: ${n * height}px; height: ${height}px; overflow: hidden`;
    const [title, line, button] = ['b', 'p', 'button'].map((tag) => document.createElement(tag));
    if (title === undefined || line === undefined || button === undefined) return row;
    title.textContent = `Row number ${n}`;
    line.textContent = Array.from({ length: words }, (_, word) => `word${(n * 7 + word) % 100}`).join(' ');
    button.textContent = 'Start';
    row.append(title, line, button);
    return row;
  };
  const draw = () => {
    const from = Math.max(0, Math.floor(list.scrollTop / height) - MORE);
    const to = Math.min(COUNT, Math.ceil((list.scrollTop + 800) / height) + MORE);
    for (const [n, row] of drawn) {
      if (n >= from && n < to) continue;
      row.remove();
      drawn.delete(n);
    }
    for (let n = from; n < to; n += 1) {
      if (drawn.has(n)) continue;
      const row = make(n);
      drawn.set(n, row);
      list.append(row);
    }
  };
  list.addEventListener('scroll', draw);
  draw();
}
