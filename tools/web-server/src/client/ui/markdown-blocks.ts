import type { Blockquote, List, ListItem, Root, RootContent } from 'mdast';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';

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
