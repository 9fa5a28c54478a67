import { hiddenWarning, type TextKind, visiblePieces } from '@callboard/contract';
import { IconEyeOff } from '@tabler/icons-react';
import { useMemo } from 'react';
import css from './seen.module.css';

/** A text with each hidden character shown as its code. */
export function Seen({ text, kind }: { text: string; kind: TextKind }) {
  const pieces = useMemo(() => visiblePieces(text, kind), [text, kind]);
  return pieces.map((piece, index) => {
    if (piece.kind === 'plain') return piece.text;
    const Tag = piece.kind === 'hidden' ? 'mark' : 'bdi';
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
      <Tag key={index} className={piece.kind === 'hidden' ? css.code : undefined}>
        {piece.text}
      </Tag>
    );
  });
}

interface HiddenNoteProps {
  /** All texts that are shown beside it. */
  texts: Iterable<readonly [text: string, kind: TextKind]>;
}

/** Lists the hidden characters in what a person is about to decide on; nothing if there are none. */
export function HiddenNote({ texts }: HiddenNoteProps) {
  const warning = hiddenWarning(texts);
  if (warning === null) return null;
  return (
    <div className={css.note} role="note" aria-label="Hidden characters">
      <IconEyeOff size={16} aria-hidden />
      <span>{warning}</span>
    </div>
  );
}
