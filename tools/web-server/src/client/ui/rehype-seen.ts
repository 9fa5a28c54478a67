import { visiblePieces } from '@callboard/contract';
import type { HighlightTree } from '../lib/highlighter.ts';
import css from './seen.module.css';

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
          properties: { className: [css.code ?? ''] },
          children: [{ type: 'text', value: piece.text }],
        }
      : { type: 'text', value: piece.text },
  );
