import type { TextKind } from '@callboard/contract';
import { type ReactNode, useEffect, useState } from 'react';
import { create } from 'zustand';
import type { HighlightTree } from '../lib/highlighter.ts';
import { whenIdle } from '../lib/when-idle.ts';
import './highlighted.css';
import { Seen } from './text.tsx';

export type Highlight = (text: string, language: string) => HighlightTree | null;

/** Longer text is shown without colours: a task that colours it would be felt. */
const MAX_LENGTH = 20_000;
/** This many coloured texts are kept, for rows that leave the page and come back. */
const SAVED = 200;

interface Highlighter {
  /** Null until loaded. */
  highlight: Highlight | null;
  isLoading: boolean;
  load(): void;
  /** The newest trees, by language and text. */
  trees: ReadonlyMap<string, HighlightTree>;
  save(key: string, tree: HighlightTree): void;
}

const keyOf = (text: string, language: string) => `${language}\n${text}`;

/** The highlighter, loaded when it is first needed. After a failure text stays plain, and the next block tries again. */
const useHighlighter = create<Highlighter>((set, get) => ({
  highlight: null,
  isLoading: false,
  trees: new Map(),
  save: (key, tree) => set(({ trees }) => ({ trees: new Map([...[...trees].slice(-SAVED + 1), [key, tree]]) })),
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

/**
 * Code with colours if its language is known. They come when the page is idle; they change no size, so nothing moves
 * when they appear.
 */
export function Highlighted({ text, language, kind = 'code' }: HighlightedProps) {
  const isWanted = language !== null && text.length <= MAX_LENGTH;
  const highlight = useHighlight(isWanted);
  const [coloured, setColoured] = useState<{ key: string; tree: HighlightTree | null } | null>(null);
  const key = isWanted ? keyOf(text, language) : null;
  const tree =
    key === null ? null : ((coloured?.key === key ? coloured.tree : useHighlighter.getState().trees.get(key)) ?? null);
  const isMissing = tree === null && coloured?.key !== key;
  useEffect(() => {
    if (!isMissing || key === null || highlight === null || language === null) return;
    return whenIdle(() => {
      const made = highlight(text, language);
      setColoured({ key, tree: made });
      if (made !== null) useHighlighter.getState().save(key, made);
    });
  }, [isMissing, key, highlight, text, language]);
  return tree === null ? <Seen text={text} kind={kind} /> : tree.children.map((node, at) => toReact(node, at, kind));
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
