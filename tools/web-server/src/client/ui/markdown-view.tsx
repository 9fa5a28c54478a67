import type { Root } from 'mdast';
import { Fragment, memo, type RefObject, useEffect, useRef, useState } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import type { Processor } from 'unified';
import { CopyCode } from './copy-code.tsx';
import { Highlighted } from './highlighted.tsx';
import css from './markdown.module.css';
import { markdownBlocks } from './markdown-blocks.ts';
import { rehypeSeen } from './rehype-seen.ts';
import { Seen } from './seen.tsx';

const rehypePlugins = [rehypeSeen];

const inBlocks: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  code: ({ className, children }) => {
    const language = /language-(\S+)/.exec(className ?? '')?.[1] ?? null;
    return <code>{typeof children === 'string' ? <Highlighted text={children} language={language} /> : children}</code>;
  },
  pre: ({ children }) => <CopyCode>{children}</CopyCode>,
  // A text must not make the page load anything.
  img: ({ src, alt }) => (
    <span>
      <Seen text={alt === undefined || alt === '' ? (src ?? '') : alt} kind="prose" />
    </span>
  ),
};

/** Colours wait until the code is complete: a new chunk would colour all of it again. */
const inOpenBlocks: Components = {
  ...inBlocks,
  code: ({ children }) => <code>{typeof children === 'string' ? <Seen text={children} kind="code" /> : children}</code>,
};

interface MarkdownViewProps {
  text: string;
  /** Whether more text follows. */
  isLive?: boolean;
}

/** Blocks are drawn in groups of this size: a chunk of a long message looks at its groups only. */
const GROUP = 8;

/** Markdown without raw HTML: a model's output is text only. Blocks that were shown are never parsed or drawn again. */
export default function MarkdownView({ text, isLive = false }: MarkdownViewProps) {
  const [known, setBlocks] = useState(() => markdownBlocks(text));
  const blocks = known.text === text ? known : markdownBlocks(text, known);
  if (blocks !== known) setBlocks(blocks);
  const { finished, open } = blocks;
  const all = [...finished, ...open];
  const box = useRef<HTMLDivElement>(null);
  const full = Math.floor(finished.length / GROUP);
  const settled = useSettled(box, full);
  return (
    <div className={css.markdown} ref={box}>
      {Array.from({ length: Math.ceil(all.length / GROUP) }, (_, group) => {
        const from = group * GROUP;
        return (
          <Group
            // biome-ignore lint/suspicious/noArrayIndexKey: a block keeps its place
            key={group}
            blocks={all.slice(from, from + GROUP)}
            firstOpen={isLive ? Math.max(0, Math.min(GROUP, finished.length - from)) : GROUP}
            isSettled={group < settled}
          />
        );
      })}
    </div>
  );
}

interface GroupProps {
  blocks: readonly Root[];
  /** The blocks from this one on may still change. */
  firstOpen: number;
  /** Whether the browser may leave it out while it is out of sight: its size is known. */
  isSettled: boolean;
}

const Group = memo(
  function Group({ blocks, firstOpen, isSettled }: GroupProps) {
    return (
      <div className={css.group} data-settled={isSettled || undefined}>
        {blocks.map((tree, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a block keeps its place
          <Fragment key={index}>
            <Block tree={tree} isOpen={index >= firstOpen} />
            {'\n'}
          </Fragment>
        ))}
      </div>
    );
  },
  (a, b) =>
    a.firstOpen === b.firstOpen &&
    a.isSettled === b.isSettled &&
    a.blocks.length === b.blocks.length &&
    a.blocks.every((block, index) => block === b.blocks[index]),
);

/**
 * How many of the full groups were drawn at the width that the box has now. Only then does the browser know their sizes, so
 * that leaving them out moves nothing.
 */
function useSettled(box: RefObject<HTMLElement | null>, full: number): number {
  const [drawn, setDrawn] = useState({ groups: 0, width: 0 });
  const { groups } = drawn;
  const isLong = full > 0;
  useEffect(() => {
    const element = box.current;
    if (!isLong || element === null) return;
    const observer = new ResizeObserver(([entry]) => {
      const width = entry?.contentRect.width ?? 0;
      setDrawn((old) => (old.width === width ? old : { groups: 0, width }));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [box, isLong]);
  useEffect(() => {
    if (groups >= full) return;
    // The size is taken at the end of a frame.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => setDrawn((old) => ({ ...old, groups: full })));
    });
    return () => cancelAnimationFrame(frame);
  }, [groups, full]);
  return Math.min(groups, full);
}

const Block = memo(function Block({ tree, isOpen }: { tree: Root; isOpen: boolean }) {
  return (
    <ReactMarkdown
      remarkPlugins={[remarkGfm, [asParsed, tree]]}
      rehypePlugins={rehypePlugins}
      components={isOpen ? inOpenBlocks : inBlocks}
    />
  );
});

/** Gives the processor a tree that was parsed before. */
function asParsed(this: Processor, tree: Root): void {
  this.parser = () => tree;
}
