import { cleanup, render } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import MarkdownView from './markdown-view.tsx';

const drawn = vi.hoisted(() => ({ blocks: 0 }));
vi.mock('react-markdown', async (original) => {
  const { default: ReactMarkdown, ...real } = await original<typeof import('react-markdown')>();
  const Counted: typeof ReactMarkdown = (props) => {
    drawn.blocks += 1;
    return ReactMarkdown(props);
  };
  return { ...real, default: Counted };
});

beforeEach(() => {
  drawn.blocks = 0;
});
afterEach(cleanup);

const message = (sections: number) =>
  Array.from({ length: sections }, (_, n) => `## Part ${n}\n\nSome words.\n\n- one\n- two\n`).join('\n');

it('draws only the block that grows, however long the message is', () => {
  const view = render(<MarkdownView text={message(200)} isLive />);
  drawn.blocks = 0;
  for (const end of ['a', 'a b', 'a b c']) view.rerender(<MarkdownView text={`${message(200)}\n${end}`} isLive />);
  // The new block at each chunk; the list before it when it is complete.
  expect(drawn.blocks).toBeLessThanOrEqual(6);
});

it('draws nothing again when the message is complete, but what was open', () => {
  const view = render(<MarkdownView text={message(200)} isLive />);
  drawn.blocks = 0;
  view.rerender(<MarkdownView text={message(200)} />);
  expect(drawn.blocks).toBeLessThanOrEqual(2);
});

it('lets the browser leave out what is out of sight once it was drawn, but not what may still grow', async () => {
  const { container } = render(<MarkdownView text={message(20)} isLive />);
  const groups = () => [...container.querySelectorAll('[class*="group"]')];
  expect(groups().filter((group) => group.hasAttribute('data-settled'))).toEqual([]);
  await vi.waitFor(() => expect(groups()[0]?.hasAttribute('data-settled')).toBe(true));
  expect(groups().at(-1)?.hasAttribute('data-settled')).toBe(false);
  expect(drawn.blocks).toBe(60); // each block once
});
