import { visiblePieces } from '@callboard/contract';
import type { Blockquote, List, ListItem, Root, RootContent } from 'mdast';
import { Fragment, memo, type RefObject, useEffect, useRef, useState } from 'react';
import type { Components } from 'react-markdown';
import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { type Processor, unified } from 'unified';
import type { HighlightTree } from '../lib/highlighter.ts';
import { CopyCode } from './code.tsx';
import { Highlighted } from './highlighted.tsx';
import css from './markdown.module.css';
import seenStyles from './text.module.css';
import { Seen } from './text.tsx';

type Node = HighlightTree['children'][number];

/** Replaces hidden characters in rendered Markdown by their codes. Code blocks do that themselves. */
export const rehypeSeen = () => (tree: HighlightTree) => {
  tree.children = tree.children.flatMap(seen);
};

function seen(node: Node): Node[] {
  if (node.type === 'text') return pieces(node.value);
  if (node.type !== 'element' || node.tagName === 'code') return [node];
  const children = node.children.flatMap((child) => seen(child).filter((one) => one.type !== 'doctype'));
  return [{ ...node, children }];
}

const pieces = (text: string): Node[] =>
  visiblePieces(text, 'prose').map((piece) =>
    piece.kind === 'hidden'
      ? {
          type: 'element',
          tagName: 'mark',
          properties: { className: [seenStyles.code ?? ''] },
          children: [{ type: 'text', value: piece.text }],
        }
      : { type: 'text', value: piece.text },
  );

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

/** A Markdown text as its top-level blocks, each in a tree of its own. */
export interface MarkdownBlocks {
  text: string;
  /** The blocks that no further text can change. */
  finished: readonly Root[];
  /** Where the first open block begins. */
  openFrom: number;
  /** The blocks at the end that further text may still change. */
  open: readonly Root[];
}

export const NO_BLOCKS: MarkdownBlocks = { text: '', finished: [], openFrom: 0, open: [] };

const BYTE_ORDER_MARK = '\uFEFF';

const parser = unified().use(remarkParse).use(remarkGfm).freeze();

/**
 * Splits a text into blocks. If it begins with the text of `before`, finished blocks are taken over and only what follows
 * them is parsed, so a chunk of a streamed message costs as much as the block that it belongs to. A text with link
 * definitions or footnotes is one block: they may change any part of it.
 */
export function markdownBlocks(text: string, before: MarkdownBlocks = NO_BLOCKS): MarkdownBlocks {
  const known = text.startsWith(before.text) ? before : NO_BLOCKS;
  const rest = text.slice(known.openFrom);
  // The parser drops a byte order mark at the beginning, without counting it. Elsewhere it is a character.
  const hasMark = rest.startsWith(BYTE_ORDER_MARK);
  const isDropped = hasMark && known.openFrom === 0;
  const { children } = parser.parse(hasMark && !isDropped ? `\n${rest}` : rest);
  const shift = (isDropped ? 1 : 0) - (hasMark && !isDropped ? 1 : 0);
  if (children.some(mayReachElsewhere)) {
    const whole = known.openFrom === 0 ? children : parser.parse(text).children;
    return { text, finished: [], openFrom: 0, open: [{ type: 'root', children: whole }] };
  }
  const blocks = children.map((child): Root => ({ type: 'root', children: [child] }));
  const starts = children.map((child) => lineStart(rest, (child.position?.start.offset ?? 0) + shift));
  const open = Math.max(
    0,
    starts.findLastIndex(
      (start, index) => isCertain(rest, start) && !endsInIndentedCode(rest, children[index - 1], shift),
    ),
  );
  return {
    text,
    finished: open === 0 ? known.finished : [...known.finished, ...blocks.slice(0, open)],
    openFrom: known.openFrom + (open === 0 ? 0 : (starts[open] ?? 0)),
    open: blocks.slice(open),
  };
}

const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1;

/**
 * Whether a block begins there, whatever follows and whatever came before: a line that is still being written may turn into
 * something else, a table needs two lines, and what may begin right below another block depends on that block.
 */
function isCertain(text: string, start: number): boolean {
  const first = text.indexOf('\n', start);
  if (first === -1 || text.indexOf('\n', first + 1) === -1) return false;
  return text.slice(lineStart(text, start - 1), start).trim() === '';
}

/**
 * Whether a block ends in code that is marked by its indentation alone. The parser takes what follows such code for a line
 * that interrupts it, even after blank lines, and reads an empty list item there as text.
 */
function endsInIndentedCode(text: string, node: RootContent | undefined, shift: number): boolean {
  if (node === undefined) return false;
  if (node.type === 'code') return !/^(?:`{3}|~{3})/.test(text.slice((node.position?.start.offset ?? 0) + shift));
  return isContainer(node) && endsInIndentedCode(text, node.children.at(-1), shift);
}

const isContainer = (node: RootContent): node is Blockquote | List | ListItem =>
  node.type === 'blockquote' || node.type === 'list' || node.type === 'listItem';

/** Whether the block contains a definition, which links in other blocks may use. */
function mayReachElsewhere(node: RootContent): boolean {
  if (node.type === 'definition' || node.type === 'footnoteDefinition') return true;
  return isContainer(node) && node.children.some(mayReachElsewhere);
}
