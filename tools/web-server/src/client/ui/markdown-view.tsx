import type { Root } from 'mdast';
import { Fragment, memo, useState } from 'react';
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

/** Markdown without raw HTML: a model's output is text only. Blocks that were shown are never parsed or drawn again. */
export default function MarkdownView({ text, isLive = false }: MarkdownViewProps) {
  const [blocks, setBlocks] = useState(() => markdownBlocks(text));
  if (blocks.text !== text) setBlocks(markdownBlocks(text, blocks));
  const { finished, open } = blocks;
  return (
    <div className={css.markdown}>
      {[...finished, ...open].map((tree, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block keeps its place
        <Fragment key={index}>
          {index > 0 && '\n'}
          <Block tree={tree} isOpen={isLive && index >= finished.length} />
        </Fragment>
      ))}
    </div>
  );
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
