import type { TextKind } from '@callboard/contract';
import { type ReactNode, useEffect, useMemo } from 'react';
import { create } from 'zustand';
import type { HighlightTree } from '../lib/highlighter.ts';
import './highlighted.css';
import { Seen } from './seen.tsx';

export type Highlight = (text: string, language: string) => HighlightTree | null;

/** Longer text is shown without colours: they would cost more than they help. */
const LONGEST = 40_000;

interface Highlighter {
  /** Null until loaded. */
  highlight: Highlight | null;
  isLoading: boolean;
  load(): void;
}

/** The highlighter, loaded when it is first needed. After a failure text stays plain, and the next block tries again. */
const useHighlighter = create<Highlighter>((set, get) => ({
  highlight: null,
  isLoading: false,
  load() {
    if (get().highlight !== null || get().isLoading) return;
    set({ isLoading: true });
    import('../lib/highlighter.ts').then(
      ({ highlight }) => set({ highlight, isLoading: false }),
      () => set({ isLoading: false }),
    );
  },
}));

/** The highlighter, once it is loaded; null until then, or if it is not wanted. */
export function useHighlight(isWanted: boolean): Highlight | null {
  const highlight = useHighlighter((highlighter) => highlighter.highlight);
  useEffect(() => {
    if (isWanted) useHighlighter.getState().load();
  }, [isWanted]);
  return isWanted ? highlight : null;
}

interface HighlightedProps {
  text: string;
  language: string | null;
  kind?: Exclude<TextKind, 'prose'>;
}

/** Code with colours if its language is known. Colours change no size, so nothing moves when they appear. */
export function Highlighted({ text, language, kind = 'code' }: HighlightedProps) {
  const isWanted = language !== null && text.length <= LONGEST;
  const highlight = useHighlight(isWanted);
  const tree = useMemo(
    () => (isWanted && highlight !== null ? highlight(text, language) : null),
    [isWanted, highlight, text, language],
  );
  return tree === null ? <Seen text={text} kind={kind} /> : tree.children.map((node, key) => toReact(node, key, kind));
}

type Node = HighlightTree['children'][number];

function toReact(node: Node, key: number, kind: TextKind): ReactNode {
  if (node.type === 'text') return <Seen key={key} text={node.value} kind={kind} />;
  if (node.type !== 'element') return null;
  const { className } = node.properties;
  return (
    <span key={key} className={Array.isArray(className) ? className.join(' ') : undefined}>
      {node.children.map((child, index) => toReact(child, index, kind))}
    </span>
  );
}
