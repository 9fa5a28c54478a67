import type { TextKind } from '@callboard/contract';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import type { HighlightTree } from '../lib/highlighter.ts';
import './highlighted.css';
import { Seen } from './seen.tsx';

type Highlight = (text: string, language: string) => HighlightTree | null;

/** More than this is shown without colours: they would cost more than they help. */
const LONGEST = 40_000;

let loaded: Highlight | undefined;
let loading: Promise<Highlight> | undefined;

function load(): Promise<Highlight> {
  loading ??= import('../lib/highlighter.ts').then((module) => {
    loaded = module.highlight;
    return loaded;
  });
  return loading;
}

/** The highlighter once it is there. Colours change no size, so that nothing moves when it comes. */
function useHighlighter(wanted: boolean): Highlight | undefined {
  const [highlighter, setHighlighter] = useState(() => loaded);
  useEffect(() => {
    if (!wanted || highlighter !== undefined) return;
    let gone = false;
    load()
      .then((highlight) => !gone && setHighlighter(() => highlight))
      .catch(() => {
        loading = undefined; // not reached: the text stays plain, the next one tries again
      });
    return () => {
      gone = true;
    };
  }, [wanted, highlighter]);
  return highlighter;
}

interface HighlightedProps {
  text: string;
  language: string | null;
  kind?: Exclude<TextKind, 'prose'>;
}

/** Code with colours, as far as its language is known; its text is what it was given, with hidden characters as codes. */
export function Highlighted({ text, language, kind = 'code' }: HighlightedProps) {
  const isWanted = language !== null && text.length <= LONGEST;
  const highlighter = useHighlighter(isWanted);
  const tree = useMemo(
    () => (isWanted && highlighter !== undefined ? highlighter(text, language) : null),
    [isWanted, highlighter, text, language],
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
